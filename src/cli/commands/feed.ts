import { resolve } from 'node:path';
import { resumeList, type BadEntry, type Checkpoint, type SentBlock } from '#client';
import { show } from '../../errors/show.js';
import type { Job, Keeping } from '../jobs/job.js';
import { Places } from '../jobs/places.js';
import { isRemote, STDIN } from '../sources/names.js';
import { Sources, type SourceFormat } from '../sources/sources.js';
import type { Source } from '../sources/runs.js';
import { Complaints } from '../terminal/complaints.js';
import { Progress } from '../terminal/progress.js';
import type { Context } from './context.js';
import type { LineVerb } from './line-verb.js';

/** Options for all commands that read sources. */
export interface FeedOptions {
  readonly format: SourceFormat;
  /** Number of parallel calls. */
  readonly parallel: number;
}

export interface JobFlags {
  /** `false` for no checkpoint. */
  readonly checkpoint?: string | false;
  readonly restart?: boolean;
}

/** Where to keep a job's checkpoint. stdin has no name, so such a job has a checkpoint only if the user names one. */
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

/** The sources' names, in a form that doesn't depend on the current folder. */
export function identityOf(sources: readonly string[]): readonly string[] {
  return sources.map((name) => (name === STDIN || isRemote(name) ? name : resolve(name)));
}

/** Opens a call's sources. Throws UsageError if a local one can't be read. */
export async function sourcesOf(
  { interruption }: Context,
  names: readonly string[],
  { format }: FeedOptions,
): Promise<Sources> {
  return Sources.of(names, format, interruption.soft);
}

/** Entries from the sources, with their results. */
export type FedBlock = SentBlock<string | BadEntry, string | boolean>;

export interface Feed {
  readonly source: Source;
  readonly label: string;
  readonly verb: LineVerb;
  /** Number of parallel calls. */
  readonly parallel: number;
  /** The job, if the call changes data. */
  readonly job?: Job;
  /** Receives blocks with their results, in order. */
  readonly took?: (block: FedBlock) => Promise<void>;
}

export interface Fed {
  readonly seconds: number;
  readonly complained: boolean;
  readonly checkpoint: Checkpoint;
}

/** How long a line waits for more lines, for example from a terminal or a crawl. Only for jobs without a checkpoint. */
const MAX_WAIT_MS = 100;

/**
 * Reads sources, sends them in blocks, and shows progress. If an error ends it early, it first handles all earlier
 * results.
 */
export async function feed(context: Context, feeding: Feed): Promise<Fed> {
  const { source, label, verb, parallel, job, took } = feeding;
  const { soft, hard } = context.interruption;
  const errors = context.quiet ? undefined : context.errors;
  const progress = new Progress(progressOutput(context), label, source.meter);
  const complaints = new Complaints(errors, progress);
  const from = job?.checkpoint;
  if (job?.resumed) errors?.write(`${label}: continuing after ${job.checkpoint.entries} lines\n`);
  let [complained, hasSent] = [false, false];
  const places = new Places();
  try {
    const checkpoint = await resumeList(verb.send, places.entriesOf(source.runs(), from?.entries ?? 0), {
      ...{ from, ahead: parallel, stop: soft, signal: hard },
      maxWaitMs: job?.isKept ? undefined : MAX_WAIT_MS,
      save: (reached) => {
        if (!hasSent && job?.resumed === true) progress.resume();
        hasSent = true;
        job?.keep(reached);
      },
      onBlock: async (block) => {
        places.forget(block.from);
        const refused = complaintsIn(block, places);
        complained ||= refused.length > 0;
        await took?.(block);
        if (refused[0] !== undefined) job?.refuses(refused[0]);
        progress.add(block.entries.length);
        complaints.add(refused);
      },
    });
    return { seconds: progress.clear(), complained, checkpoint };
  } catch (error) {
    progress.clear();
    throw error;
  } finally {
    complaints.end();
  }
}

/** Why some of a block's entries were not accepted, one line each. Entries that were not sent come first. */
function complaintsIn({ from, entries, results, reasons }: FedBlock, places: Places): string[] {
  const faults: string[] = [];
  const refused: string[] = [];
  for (const [i, reason] of reasons) {
    const entry = entries[i];
    if (typeof entry !== 'string') {
      faults.push(reason);
      continue;
    }
    const place = places.of(from + i);
    const text = results[i] === undefined ? `the item ${reason}` : `${show(entry)}: ${reason}`;
    refused.push(place === undefined ? text : `${place}: ${text}`);
  }
  return [...faults, ...refused];
}

/** Where progress goes, or undefined if it is off. */
function progressOutput({ quiet, errors }: Context): NodeJS.WriteStream | undefined {
  return quiet ? undefined : errors;
}
