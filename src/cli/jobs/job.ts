import { createHash, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Checkpoint } from '#client';
import { show } from '../../errors/show.js';
import { UsageError } from '../ending.js';
import { CheckpointFile } from './checkpoint-file.js';

/** A member for each verdict. */
export type Counts = Record<string, number>;

interface JobState extends Omit<Checkpoint, 'key' | 'cuts'> {
  /** Absent in files of earlier versions. */
  readonly cuts?: readonly number[];
  /** Idempotency-Keys begin with it. */
  readonly job: string;
  readonly identity: string;
  /** Name of the set or filter. */
  readonly name: string;
  /** For people: verb and name. */
  readonly title: string;
  /** Of the set or filter: another one has no records of the calls that were made. */
  readonly generation: string;
  /** The first entry that was refused, and why. */
  readonly firstRefused?: string;
  /** Of a sync: its id. */
  readonly sync?: string;
  /** What a sync is opened with, until the answer of that call is known. */
  readonly opening?: Opening;
}

export interface Opening {
  readonly capacity?: number;
  readonly errorRate?: number;
}

/** A sync that a job has opened, or may have opened: then the same call under the same key answers its id. */
export type OwnSync = { readonly name: string } & (
  | { readonly id: string }
  | { readonly opening: Opening; readonly key: string }
);

/** A checkpoint has little room. */
const MOST_REFUSED = 400;

export interface JobOptions {
  readonly verb: string;
  readonly name: string;
  readonly generation: string;
  /** Whatever makes another call another job. */
  readonly about: readonly unknown[];
  readonly keeping: Keeping;
  /** Ends the sync of a former job in the checkpoint that this one replaces. It may be of another set. */
  readonly abandon?: (sync: OwnSync) => Promise<void>;
}

/** Where the checkpoint is: in a file of the user, in one among others in a folder, or nowhere. */
export type Keeping =
  | { readonly file: string; readonly restart: boolean }
  | { readonly folder: string; readonly restart: boolean }
  | undefined;

/** How far a job has come. It is kept in a checkpoint, so that the same call goes on where an earlier one was ended. */
export class Job {
  private constructor(
    private state: JobState,
    private readonly file: CheckpointFile | undefined,
    /** Whether an earlier call has begun it. */
    private isResumed: boolean,
    /** Why a former job in the checkpoint cannot go on. Undefined if there is none, or if the user restarts it. */
    readonly whyReplaced?: string,
  ) {}

  private hasSent = false;

  /** Throws UsageError for a checkpoint of another job. A job of a set that was cleared since starts over. */
  static async open(options: JobOptions): Promise<Job> {
    const { verb, name, generation, about, keeping, abandon } = options;
    const identity = digestOf([verb, name, ...about]);
    const title = `${verb} ${show(name)}`;
    const fresh = freshState(identity, name, title, generation);
    if (keeping === undefined) return new Job(fresh, undefined, false);
    const path = 'file' in keeping ? keeping.file : join(keeping.folder, `${verb}-${identity.slice(0, 16)}`);
    const file = CheckpointFile.open(path);
    try {
      const found = file.found as JobState | undefined;
      if (found && !keeping.restart) assertSame(found, fresh, path);
      const isGone = found !== undefined && found.generation !== generation;
      const goesOn = found !== undefined && !isGone && !keeping.restart;
      const why =
        isGone && !keeping.restart ? 'the set was cleared, or deleted and created again' : undefined;
      // First abandon the sync, then overwrite the checkpoint: a call after a kill in between finds the sync there.
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

  /** Whether something may have been done. */
  get hasBegun(): boolean {
    return this.isResumed || this.hasSent || this.state.opening !== undefined;
  }

  /** How far its list has come. */
  get checkpoint(): Checkpoint {
    const { job, entries, digest, counts, refused, cuts = [] } = this.state;
    return { key: keyOf(job), entries, digest, counts, refused, cuts };
  }

  /** The first line that was refused, and why. */
  get firstRefused(): string | undefined {
    return this.state.firstRefused;
  }

  get sync(): string | undefined {
    return this.state.sync;
  }

  get ownSync(): OwnSync | undefined {
    return ownSyncOf(this.state);
  }

  /** Whether an interrupted job goes on when it is called again. */
  get isKept(): boolean {
    return this.file !== undefined;
  }

  /** The Idempotency-Key of the call that opens its sync. */
  get openingKey(): string {
    return openingKeyOf(this.state);
  }

  /** A line was refused. Kept with the next checkpoint. */
  refuses(line: string): void {
    if (this.state.firstRefused !== undefined) return;
    this.state = { ...this.state, firstRefused: line.slice(0, MOST_REFUSED) };
  }

  /** Its list has come so far, and goes on. */
  keep({ key, ...come }: Checkpoint): void {
    this.hasSent = true;
    this.update(come);
  }

  /**
   * A sync is about to be opened. Returns its options: those of the first call, because a repeat must send the same.
   */
  opens(asked: Opening): Opening {
    const { opening = asked } = this.state;
    this.update({ opening });
    return opening;
  }

  /** The sync was opened, or refused. */
  opened(sync?: string): void {
    const { opening, ...rest } = this.state;
    this.state = rest;
    this.update(sync === undefined ? {} : { sync });
  }

  /** Forgets how far it has come, so that it does all of its work again. */
  beginAnew(): void {
    const { identity, name, title, generation } = this.state;
    this.state = freshState(identity, name, title, generation);
    [this.isResumed, this.hasSent] = [false, false];
    this.save(true);
  }

  /** The job is over: called again, it starts over. */
  finish(): void {
    this.file?.remove();
  }

  /** It may go on later, if something may have been done. Answers whether it left a checkpoint. */
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

/** The Idempotency-Keys of a job begin with it. */
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
    `${show(path)} is the checkpoint of another job (${found.title}) or of other sources: name another file, or start over with --restart`,
  );
}

function digestOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 32);
}
