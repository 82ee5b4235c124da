import { createHash, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Checkpoint } from '#client';
import { show } from '../../errors/show.js';
import { UsageError } from '../ending.js';
import { CheckpointFile } from './checkpoint-file.js';

/** A count for each verdict. */
export type Counts = Record<string, number>;

interface JobState extends Omit<Checkpoint, 'key' | 'cuts'> {
  /** Absent in files of earlier versions. */
  readonly cuts?: readonly number[];
  /** Prefix for the job's operation keys. */
  readonly job: string;
  readonly identity: string;
  /** Name of the set or filter. */
  readonly name: string;
  /** Verb and name, for people. */
  readonly title: string;
  /** Generation of the set or filter. Another generation has no records for the job's operations. */
  readonly generation: string;
  /** The first refused entry and why. */
  readonly firstRefused?: string;
  /** The id of the job's sync. */
  readonly sync?: string;
  /** The options for opening the sync. Dropped once the service has answered. */
  readonly opening?: Opening;
}

export interface Opening {
  readonly capacity?: number;
  readonly errorRate?: number;
}

/**
 * A sync that a job has opened, or may have opened. If it isn't sure, repeating the call with the same operation key
 * returns the sync's id.
 */
export type OwnSync = { readonly name: string } & (
  | { readonly id: string }
  | { readonly opening: Opening; readonly key: string }
);

/** Maximum length of `firstRefused`, because a checkpoint has little space. */
const MOST_REFUSED = 400;

export interface JobOptions {
  readonly verb: string;
  readonly name: string;
  readonly generation: string;
  /** Everything else that distinguishes the job from others. */
  readonly about: readonly unknown[];
  readonly keeping: Keeping;
  /**
   * Abandons the previous job's sync when this job replaces that job's checkpoint. The sync may belong to another set.
   */
  readonly abandon?: (sync: OwnSync) => Promise<void>;
}

/** Where the checkpoint is: in a file that the user names, in a folder of checkpoints, or nowhere. */
export type Keeping =
  | { readonly file: string; readonly restart: boolean }
  | { readonly folder: string; readonly restart: boolean }
  | undefined;

/** A job's progress. A checkpoint stores it, so that repeating the same command resumes the job. */
export class Job {
  private constructor(
    private state: JobState,
    private readonly file: CheckpointFile | undefined,
    /** True if an earlier call has begun the job. */
    private isResumed: boolean,
    /**
     * Why the job in the checkpoint can't resume. Undefined if the checkpoint had no job, or if the user restarts it.
     */
    readonly whyReplaced?: string,
  ) {}

  private hasSent = false;

  /**
   * Throws UsageError if the checkpoint belongs to another job. If the set has been cleared since, the job starts over.
   */
  static async open(options: JobOptions): Promise<Job> {
    const { verb, name, generation, about, keeping, abandon } = options;
    const identity = digestOf([verb, name, ...about]);
    const title = `${verb} ${show(name)}`;
    const fresh = freshState(identity, name, title, generation);
    if (keeping === undefined) return new Job(fresh, undefined, false);
    const path = 'file' in keeping ? keeping.file : join(keeping.folder, `${verb}-${identity.slice(0, 16)}`);
    const file = await CheckpointFile.open(path);
    try {
      const found = file.found as JobState | undefined;
      if (found && !keeping.restart) assertSame(found, fresh, path);
      const isGone = found !== undefined && found.generation !== generation;
      const goesOn = found !== undefined && !isGone && !keeping.restart;
      const why =
        isGone && !keeping.restart ? 'the set was cleared, or deleted and created again' : undefined;
      // Abandons the sync before it overwrites the checkpoint. If the process is killed in between, the next call still
      // finds the sync.
      const former = found && ownSyncOf(found);
      if (!goesOn && former !== undefined) await abandon?.(former);
      const job = goesOn ? new Job(found, file, true) : new Job(fresh, file, false, why);
      job.save(true);
      return job;
    } catch (error) {
      file.close();
      throw error;
    }
  }

  get resumed(): boolean {
    return this.isResumed;
  }

  /** True if the job may have changed data. */
  get hasBegun(): boolean {
    return this.isResumed || this.hasSent || this.state.opening !== undefined;
  }

  /** The position in the job's input list. */
  get checkpoint(): Checkpoint {
    const { job, entries, digest, counts, refused, cuts = [] } = this.state;
    return { key: keyOf(job), entries, digest, counts, refused, cuts };
  }

  /** The first refused line and why. */
  get firstRefused(): string | undefined {
    return this.state.firstRefused;
  }

  get sync(): string | undefined {
    return this.state.sync;
  }

  get ownSync(): OwnSync | undefined {
    return ownSyncOf(this.state);
  }

  /** True if an interrupted job can resume. */
  get isKept(): boolean {
    return this.file !== undefined;
  }

  /** The operation key of the call that opens the sync. */
  get openingKey(): string {
    return openingKeyOf(this.state);
  }

  /** Notes a refused line. The next checkpoint stores it. */
  refuses(line: string): void {
    if (this.state.firstRefused !== undefined) return;
    this.state = { ...this.state, firstRefused: line.slice(0, MOST_REFUSED) };
  }

  /** Stores the position in the input list. */
  keep({ key, ...come }: Checkpoint): void {
    this.hasSent = true;
    this.update(come);
  }

  /** Call it before opening a sync. Returns the first attempt's options, because a repeat must send the same ones. */
  opens(asked: Opening): Opening {
    const { opening = asked } = this.state;
    this.update({ opening });
    return opening;
  }

  /** Records that the service opened the sync, or refused to if `sync` is undefined. */
  opened(sync?: string): void {
    const { opening, ...rest } = this.state;
    this.state = rest;
    this.update(sync === undefined ? {} : { sync });
  }

  /** Discards the progress, so that the job starts over. */
  beginAnew(): void {
    const { identity, name, title, generation } = this.state;
    this.state = freshState(identity, name, title, generation);
    [this.isResumed, this.hasSent] = [false, false];
    this.save(true);
  }

  /** Removes a finished job's checkpoint, so that repeating the command starts over. */
  finish(): void {
    this.file?.remove();
  }

  /** Closes the job, and removes its checkpoint if it can't have changed data. Returns true if it left a checkpoint. */
  leave(): boolean {
    if (this.hasBegun) this.file?.close();
    else this.finish();
    return this.isKept && this.hasBegun;
  }

  private update(change: Partial<JobState>): void {
    this.state = { ...this.state, ...change };
    this.save(false);
  }

  private save(durable: boolean): void {
    this.file?.write(this.state, durable);
  }
}

function freshState(identity: string, name: string, title: string, generation: string): JobState {
  const job = randomUUID();
  return { job, identity, name, title, generation, entries: 0, digest: '', counts: {}, refused: 0 };
}

/** The prefix for the job's operation keys. */
function keyOf(job: string): string {
  return `unseen-${job}`;
}

function openingKeyOf({ job }: JobState): string {
  return `${keyOf(job)}-open`;
}

function ownSyncOf(state: JobState): OwnSync | undefined {
  const { name, sync, opening } = state;
  if (sync !== undefined) return { name, id: sync };
  return opening && { name, opening, key: openingKeyOf(state) };
}

function assertSame(found: JobState, { identity }: JobState, path: string): void {
  if (found.identity === identity) return;
  throw new UsageError(
    `${show(path)} is a checkpoint for a different job (${found.title}) or for different sources. Pass a different file, or start over with --restart`,
  );
}

function digestOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 32);
}
