import { createHash, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { show } from '../../errors/show.js';
import { UsageError } from '../ending.js';
import type { Block } from './blocks.js';
import { CheckpointFile } from './checkpoint-file.js';

/** A member for each verdict. */
export type Counts = Record<string, number>;

interface JobState {
  /** Idempotency-Keys begin with it. */
  readonly job: string;
  readonly identity: string;
  /** For people: verb and name. */
  readonly title: string;
  /** Of the set or filter: another one has no records of the calls that were made. */
  readonly generation: string;
  /** What has been answered: the first entries of the sources. */
  readonly entries: number;
  readonly digest: string;
  /** A short block that was sent ended here, so it must end here when it is sent again. */
  readonly cutAt?: number;
  readonly counts: Counts;
  /** Entries that were not sent, or not taken. */
  readonly refused: number;
  /** Of a sync: its id. */
  readonly sync?: string;
}

export interface JobOptions {
  readonly verb: string;
  readonly name: string;
  readonly generation: string;
  /** Whatever makes another call another job. */
  readonly about: readonly unknown[];
  readonly keeping: Keeping;
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
    readonly resumed: boolean,
  ) {}

  /** Throws UsageError for a checkpoint of another job, and where the set was cleared since. */
  static open({ verb, name, generation, about, keeping }: JobOptions): Job {
    const identity = digestOf([verb, name, ...about]);
    const title = `${verb} ${show(name)}`;
    const fresh: JobState = {
      job: randomUUID(),
      identity,
      title,
      generation,
      entries: 0,
      digest: '',
      counts: {},
      refused: 0,
    };
    if (keeping === undefined) return new Job(fresh, undefined, false);
    const path = 'file' in keeping ? keeping.file : join(keeping.folder, `${verb}-${identity.slice(0, 16)}`);
    const file = CheckpointFile.open(path);
    try {
      const found = keeping.restart ? undefined : (file.found as JobState | undefined);
      if (found) assertSame(found, fresh, path);
      const job = new Job(found ?? fresh, file, found !== undefined);
      job.save(true);
      return job;
    } catch (error) {
      file.close();
      throw error;
    }
  }

  get done(): { readonly entries: number; readonly digest: string } {
    return this.state;
  }

  get cutAt(): number | undefined {
    return this.state.cutAt;
  }

  get counts(): Readonly<Counts> {
    return this.state.counts;
  }

  get refused(): number {
    return this.state.refused;
  }

  get sync(): string | undefined {
    return this.state.sync;
  }

  /** Whether an interrupted job goes on when it is called again. */
  get isKept(): boolean {
    return this.file !== undefined;
  }

  /** The Idempotency-Key of a step. */
  key(step: string | number): string {
    return `unseen-${this.state.job}-${step}`;
  }

  /** A block is about to be sent. */
  sends({ short, end }: Block): void {
    if (!short || this.state.cutAt === end) return;
    this.update({ cutAt: end });
  }

  /** A block was answered; so were all before it. */
  took({ end, digest }: Block, counts: Counts, refused: number): void {
    const sum = { ...this.state.counts };
    for (const [verdict, count] of Object.entries(counts)) sum[verdict] = (sum[verdict] ?? 0) + count;
    this.update({ entries: end, digest, counts: sum, refused: this.state.refused + refused });
  }

  opened(sync: string): void {
    this.update({ sync });
  }

  /** The job is over: called again, it begins anew. */
  finish(): void {
    this.file?.remove();
  }

  /** It may go on later. */
  leave(): void {
    this.file?.close();
  }

  private update(change: Partial<JobState>): void {
    this.state = { ...this.state, ...change };
    this.save(false);
  }

  private save(durable: boolean): void {
    this.file?.write(this.state, durable);
  }
}

function assertSame(found: JobState, { identity, generation }: JobState, path: string): void {
  if (found.identity !== identity) {
    throw new UsageError(
      `${show(path)} is the checkpoint of another job, ${found.title}, or of other sources: name another file, or begin anew with --restart`,
    );
  }
  if (found.generation !== generation) {
    throw new UsageError(
      `it was cleared or made anew since this job was begun: begin the job anew, too, with --restart`,
    );
  }
}

function digestOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 32);
}
