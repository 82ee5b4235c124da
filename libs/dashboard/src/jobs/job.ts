import {
  AnswerError,
  sendList,
  ServiceError,
  UnavailableError,
  UnreachableError,
  type SentBlock,
} from '#client';
import { signal } from '@preact/signals';
import { linesOf, type Format, type Line } from '../lines/lines.js';
import { client } from '../session.js';
import type { Subject } from '../sets.js';
import { INVALID, type Action } from './action.js';
import { ResultFile } from './result-file.js';
import { NOTHING, Tally } from './tally.js';

/** The files, and what to do with their lines. */
export interface Work {
  readonly subject: Subject;
  /** The id of the sync in which the lines are listed. */
  readonly sync?: string;
  readonly action: Action;
  readonly files: readonly Blob[];
  readonly format: Format;
}

/** `stopped`, `failed`, and `done` are final. */
export type JobState =
  | { readonly is: 'running' }
  /** The job sends no more lines and waits for the pending ones. */
  | { readonly is: 'stopping' }
  /** The service refused a block. The user can retry it. */
  | { readonly is: 'held'; readonly error: Error }
  /** `unknown`: the number of lines that were sent but not answered. The service may have processed them. */
  | { readonly is: 'stopped'; readonly unknown: number }
  /** A file is unreadable, or the service accepts no more lines. */
  | { readonly is: 'failed'; readonly error: Error }
  | { readonly is: 'done' };

/** How many blocks of a check may be pending at the same time. */
const AHEAD = 4;
/** Changes go one block at a time: if a line occurs twice, the service must see the first occurrence first. */
const AHEAD_OF_CHANGES = 1;
/** Delay before a block is resent after the client has given up its own retries, in ms. */
const AGAIN_MS = 3_000;
/** How long a stopped job waits for pending blocks, in ms. */
const STOP_MS = 3_000;
const PUBLISHED_EVERY_MS = 100;
/** Statuses from gateways that couldn't reach the service. */
const GATEWAYS: ReadonlySet<number> = new Set([502, 503, 504]);

/**
 * Runs an action on each line of some files, with the client's `sendList`. It skips and repeats no line, even if the
 * service is unavailable for a while, or if the key expires and the user signs in again.
 */
export class Job {
  readonly state = signal<JobState>({ is: 'running' });
  readonly progress = signal(NOTHING);
  /** The total size of the files. */
  readonly bytes: number;

  private readonly tally = new Tally();
  private readonly file = new ResultFile();
  private readonly stopping = new AbortController();
  private readonly leaving = new AbortController();
  /** Sends a refused block again. */
  private again: (() => void) | undefined;
  /** Number of lines sent without an answer so far. */
  private unanswered = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private stopTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(readonly work: Work) {
    this.bytes = work.files.reduce((sum, { size }) => sum + size, 0);
    void this.run();
  }

  get isOver(): boolean {
    return ['done', 'stopped', 'failed'].includes(this.state.value.is);
  }

  /** Retries the refused block, then continues. */
  goOn(): void {
    if (this.state.peek().is !== 'held') return;
    this.state.value = { is: 'running' };
    this.again?.();
  }

  /** Sends no more lines. Lines already sent stay done. */
  stop(): void {
    const { is } = this.state.peek();
    if (is === 'running') {
      this.state.value = { is: 'stopping' };
      this.stopTimer = setTimeout(() => this.leaving.abort(), STOP_MS);
    }
    this.stopping.abort();
  }

  /** Stops without waiting for pending blocks. */
  leave(): void {
    this.stop();
    this.leaving.abort();
  }

  /** The results so far. */
  result(): Blob {
    return this.file.whole();
  }

  private async run(): Promise<void> {
    const { action, files, format, subject } = this.work;
    const [signal, stop] = [this.leaving.signal, this.stopping.signal];
    const verb: ReturnType<Action['verb']> = (lines, options) => {
      const sent = [...lines];
      this.unanswered = Math.max(this.unanswered, sent.length);
      return action.verb(client.peek(), subject.name)(sent.values(), options);
    };
    try {
      await sendList(verb, linesOf(files, { format, onRead: (bytes) => this.read(bytes) }), {
        ...{ signal, stop, ahead: action.needs === 'read' ? AHEAD : AHEAD_OF_CHANGES },
        onBlock: (block) => this.take(block),
        onFailure: (error) => this.afterFailure(error),
      });
      this.turn({ is: 'done' });
    } catch (error) {
      if (stop.aborted) this.turn({ is: 'stopped', unknown: this.unknownLines(error) });
      else this.turn({ is: 'failed', error: error as Error });
    }
  }

  private take({ entries, results, reasons }: SentBlock<Line, string | boolean>): void {
    const { words } = this.work.action;
    const said = results.map((result) =>
      result === undefined ? INVALID : (words?.[String(result)] ?? String(result)),
    );
    this.unanswered = 0;
    this.file.add(entries, said);
    this.tally.add(entries, said, reasons);
    this.publishSoon();
  }

  /** Delay before a block is resent, in ms. A refused block waits for the user. */
  private afterFailure(error: Error): number | Promise<number> {
    if (this.work.action.endsWith?.(error) === true) throw error;
    if (isPassing(error)) {
      const askedMs = error instanceof ServiceError ? (error.retryAfterSeconds ?? 0) * 1_000 : 0;
      return Math.max(AGAIN_MS, askedMs);
    }
    this.turn({ is: 'held', error });
    return new Promise((resolve) => (this.again = () => resolve(0)));
  }

  /**
   * Counts the bytes read, and stops the job if asked. Doesn't wait for results, because a large file of empty lines
   * has none.
   */
  private read(bytes: number): void {
    this.stopping.signal.throwIfAborted();
    this.tally.read(bytes);
    this.publishSoon();
  }

  private unknownLines(error: unknown): number {
    const isUnsure = !(error instanceof ServiceError) || error instanceof UnavailableError;
    return isUnsure && this.work.action.needs !== 'read' ? this.unanswered : 0;
  }

  private turn(state: JobState): void {
    clearTimeout(this.timer);
    clearTimeout(this.stopTimer);
    this.timer = undefined;
    this.progress.value = this.tally.now();
    this.state.value = state;
  }

  /** Publishes the progress a little later, because blocks may be answered much faster than the page should render. */
  private publishSoon(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.progress.value = this.tally.now();
    }, PUBLISHED_EVERY_MS);
  }
}

/** True if the error is temporary. The client has already given up its own retries. */
function isPassing(error: unknown): boolean {
  if (error instanceof AnswerError) return GATEWAYS.has(error.status ?? 0);
  return error instanceof UnreachableError || error instanceof UnavailableError;
}
