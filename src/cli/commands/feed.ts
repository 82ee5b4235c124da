import { resolve } from 'node:path';
import { MOST_ENTRIES, MOST_SIZE, ServiceError, sizeOf } from '#client';
import { ChangedSources, Blocks, type Block } from '../jobs/blocks.js';
import type { Job, Keeping } from '../jobs/job.js';
import { withPauses } from '../jobs/pauses.js';
import { runBlocks } from '../jobs/run-blocks.js';
import { isRemote, STDIN } from '../sources/names.js';
import { Sources, type SourceFormat } from '../sources/sources.js';
import type { Source } from '../sources/runs.js';
import { Complaints } from '../terminal/complaints.js';
import { Progress } from '../terminal/progress.js';
import type { Context } from './context.js';
import type { BlockAnswer, Send } from './sending.js';

/** Options of all commands that read sources. */
export interface FeedOptions {
  readonly format: SourceFormat;
  /** Calls at once. */
  readonly parallel: number;
}

export interface JobFlags {
  /** false: none is kept. */
  readonly checkpoint?: string | false;
  readonly restart?: boolean;
}

/** Where the checkpoint of a job is. What comes through stdin has no name, so it has a checkpoint only if that is named. */
export function keepingOf(
  sources: readonly string[],
  { checkpoint, restart = false }: JobFlags,
  { stateFolder }: Context,
): Keeping {
  if (checkpoint === false) return undefined;
  if (typeof checkpoint === 'string') return { file: checkpoint, restart };
  if (sources.length === 0 || sources.includes(STDIN) || stateFolder === undefined) return undefined;
  return { folder: stateFolder, restart };
}

/** The names of sources as another call from another folder has them, too. */
export function identityOf(sources: readonly string[]): readonly string[] {
  return sources.map((name) => (name === STDIN || isRemote(name) ? name : resolve(name)));
}

/** The sources that a call names. Throws UsageError if a local one cannot be read. */
export async function sourcesOf(
  { interruption }: Context,
  names: readonly string[],
  { format }: FeedOptions,
): Promise<Sources> {
  return Sources.of(names, format, interruption.soft);
}

export interface Feed {
  readonly source: Source;
  readonly label: string;
  readonly send: Send;
  /** Calls at once. */
  readonly parallel: number;
  /** Of a call that changes something. */
  readonly job?: Job;
  /** Takes the answers of a block, in order. */
  readonly took?: (block: Block, answer: BlockAnswer) => Promise<void>;
}

export interface Fed {
  readonly seconds: number;
  readonly complained: boolean;
}

const NOTHING = { entries: 0, digest: '' };

/** Reads sources, sends them in blocks, and shows how it goes. Throws what ended it early, when all before that is taken. */
export async function feed(context: Context, feeding: Feed): Promise<Fed> {
  const { source, label, send, parallel, job, took } = feeding;
  const { soft, hard } = context.interruption;
  const errors = context.quiet ? undefined : context.errors;
  const progress = new Progress(progressOutput(context), label, source.meter);
  const complaints = new Complaints(errors, progress);
  if (job?.resumed) errors?.write(`${label}: going on after ${job.done.entries} lines\n`);
  let [complained, hasSent] = [false, false];
  const blocks = new Blocks({ maxItems: MOST_ENTRIES, maxSize: MOST_SIZE, sizeOf, cutAt: job?.cutAt });
  // A job must find the same blocks when it goes on, so it does not ask how long the sources take.
  const runs = job?.isKept ? source.runs() : withPauses(source.runs());
  try {
    await runBlocks(blocks.of(runs, job?.done ?? NOTHING), {
      parallel,
      stop: soft,
      send: async (block) => {
        if (!hasSent && job?.resumed === true) progress.resume();
        hasSent = true;
        job?.sends(block);
        return send(block.items, job?.key(block.from), hard);
      },
      take: async (block, answer) => {
        const refused = [
          ...block.faults,
          ...answer.complaints.map(({ index, text }) => located(block.placeOf(index), text)),
        ];
        complained ||= refused.length > 0;
        await took?.(block, answer);
        job?.took(block, answer.counts, refused);
        progress.add(block.end - block.from);
        complaints.add(refused);
      },
    });
    return { seconds: progress.clear(), complained };
  } catch (error) {
    progress.clear();
    // A block that was sent under this key, and never known to be answered, was another.
    const isReused = error instanceof ServiceError && error.code === 'IDEMPOTENCY_KEY_REUSED';
    if (!isReused || job?.resumed !== true) throw error;
    throw new ChangedSources(`after the first ${job.done.entries} entries`);
  } finally {
    complaints.end();
  }
}

function located(place: string | undefined, text: string): string {
  return place === undefined ? text : `${place}: ${text}`;
}

/** A bar would be drawn between the lines of results on the same terminal. */
function progressOutput({ quiet, errors }: Context): NodeJS.WriteStream | undefined {
  return quiet ? undefined : errors;
}
