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

/** What is done with the lines of which files. */
export interface Work {
  readonly subject: Subject;
  /** The id of the sync that they are listed in. */
  readonly sync?: string;
  readonly action: Action;
  readonly files: readonly Blob[];
  readonly format: Format;
}

/** How a list stands. Of `stopped`, `failed` and `done` nothing follows. */
export type JobState =
  | { readonly is: 'running' }
  /** No more is sent; what is under way is waited for. */
  | { readonly is: 'stopping' }
  /** The service has refused a block. It can be asked again. */
  | { readonly is: 'held'; readonly error: Error }
  /** `unknown`: so many lines were sent, and nobody knows whether they were done. */
  | { readonly is: 'stopped'; readonly unknown: number }
  /** The files cannot be read on, or nothing more is taken. */
  | { readonly is: 'failed'; readonly error: Error }
  | { readonly is: 'done' };

/** Blocks of a check that are under way at once. */
const AHEAD = 4;
/** What changes something goes block by block: of a line that is there twice, the first is the one that is new. */
const AHEAD_OF_CHANGES = 1;
/** What the client has repeated in vain is sent again after so long, ms. */
const AGAIN_MS = 3_000;
/** What is under way when it is stopped is waited for so long, ms. */
const STOP_MS = 3_000;
const PUBLISHED_EVERY_MS = 100;
/** Statuses of gateways that did not reach the service. */
const GATEWAYS: ReadonlySet<number> = new Set([502, 503, 504]);

/**
 * Does something with each line of files, as a list of the client: nothing is done twice or left out, neither when the
 * service goes away, nor when the key ends and somebody signs in again.
 */
export class Job {
  readonly state = signal<JobState>({ is: 'running' });
  readonly progress = signal(NOTHING);
  /** Of the files. */
  readonly bytes: number;

  private readonly tally = new Tally();
  private readonly file = new ResultFile();
  private readonly stopping = new AbortController();
  private readonly leaving = new AbortController();
  /** Sends a refused block again. */
  private again: (() => void) | undefined;
  /** Lines that were sent and not answered yet. */
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

  /** Sends again what was refused, and then the rest. */
  goOn(): void {
    if (this.state.peek().is !== 'held') return;
    this.state.value = { is: 'running' };
    this.again?.();
  }

  /** Sends nothing more. What has been sent stays done. */
  stop(): void {
    const { is } = this.state.peek();
    if (is === 'running') {
      this.state.value = { is: 'stopping' };
      this.stopTimer = setTimeout(() => this.leaving.abort(), STOP_MS);
    }
    this.stopping.abort();
  }

  /** Stops, and waits for nothing. */
  leave(): void {
    this.stop();
    this.leaving.abort();
  }

  /** What became of the lines so far. */
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

  /** In how many ms a block is sent again: after a refusal, when somebody says so. */
  private afterFailure(error: Error): number | Promise<number> {
    if (this.work.action.endsWith?.(error) === true) throw error;
    if (isPassing(error)) {
      const askedMs = error instanceof ServiceError ? (error.retryAfterSeconds ?? 0) * 1_000 : 0;
      return Math.max(AGAIN_MS, askedMs);
    }
    this.turn({ is: 'held', error });
    return new Promise((resolve) => (this.again = () => resolve(0)));
  }

  /** A file without lines has no answers, however long it is. Its progress is shown, and it can be stopped. */
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

  /** Blocks may be answered much faster than anybody reads. */
  private publishSoon(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.progress.value = this.tally.now();
    }, PUBLISHED_EVERY_MS);
  }
}

/** What the client has repeated, and may be repeated further. */
function isPassing(error: unknown): boolean {
  if (error instanceof AnswerError) return GATEWAYS.has(error.status ?? 0);
  return error instanceof UnreachableError || error instanceof UnavailableError;
}
