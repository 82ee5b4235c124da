import { AnswerError, randomKey, ServiceError, UnavailableError, UnreachableError } from '#client';
import { signal } from '@preact/signals';
import { linesOf, type Format } from '../lines/lines.js';
import { client } from '../session.js';
import type { Subject } from '../sets.js';
import type { Action } from './action.js';
import { blocksOf, type Block } from './blocks.js';
import { ResultFile } from './result-file.js';
import type { BlockAnswer } from './sending.js';
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

/** A block that was sent. */
interface Sent {
  readonly block: Block;
  answer: Promise<BlockAnswer>;
  /** Nobody knows whether it was done. */
  unsure: boolean;
}

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
 * Does something with each line of files. Blocks are answered in their order, and one that was sent is sent again under its key
 * until it is answered, so that nothing is done twice or left out: neither when the service goes away, nor when the key ends and
 * somebody signs in again.
 */
export class Job {
  readonly state = signal<JobState>({ is: 'running' });
  readonly progress = signal(NOTHING);
  /** Of the files. */
  readonly bytes: number;

  private readonly tally = new Tally();
  private readonly file = new ResultFile();
  private readonly blocks: AsyncGenerator<Block, undefined>;
  private readonly sent: Sent[] = [];
  private readonly leaving = new AbortController();
  private unreadable: Error | undefined;
  private isRead = false;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(readonly work: Work) {
    const { files, format } = work;
    this.bytes = files.reduce((sum, { size }) => sum + size, 0);
    const lines = linesOf(files, { format, onRead: (bytes) => this.read(bytes) });
    this.blocks = blocksOf(lines, `dashboard-${randomKey()}`);
    void this.run();
  }

  get isOver(): boolean {
    return ['done', 'stopped', 'failed'].includes(this.state.value.is);
  }

  /** Sends again what was refused, and then the rest. */
  goOn(): void {
    if (this.state.peek().is !== 'held') return;
    this.state.value = { is: 'running' };
    for (const sent of this.sent) sent.answer = quiet(sent.answer.catch(() => this.ask(sent)));
    void this.run();
  }

  /** Sends nothing more. What has been sent stays done. */
  stop(): void {
    const { is } = this.state.peek();
    if (is === 'held') this.end();
    if (is !== 'running') return;
    this.state.value = { is: 'stopping' };
    setTimeout(() => this.leaving.abort(), STOP_MS);
  }

  /** Stops, and waits for nothing. */
  leave(): void {
    this.leaving.abort();
    this.stop();
  }

  /** What became of the lines so far. */
  result(): Blob {
    return this.file.whole();
  }

  private async run(): Promise<void> {
    try {
      for (;;) {
        await this.sendMore();
        const [head] = this.sent;
        if (!head) break;
        const answer = await head.answer;
        this.sent.shift();
        this.file.add(head.block.lines, answer.results);
        this.tally.add(head.block.lines, answer);
        this.publishSoon();
      }
      this.end();
    } catch (error) {
      // What is behind the block that failed may be done: its answers are kept.
      await Promise.allSettled(this.sent.map(({ answer }) => answer));
      if (this.isStopping()) this.end();
      else if (this.work.action.endsWith?.(error as Error) === true) this.end(error as Error);
      else this.turn({ is: 'held', error: error as Error });
    }
  }

  private async sendMore(): Promise<void> {
    const ahead = this.work.action.needs === 'read' ? AHEAD : AHEAD_OF_CHANGES;
    while (!this.isRead && !this.isStopping() && this.sent.length < ahead) {
      const block = await this.nextBlock();
      if (!block) continue;
      const sent = { block, unsure: false } as Sent;
      sent.answer = quiet(this.ask(sent));
      this.sent.push(sent);
    }
  }

  private async nextBlock(): Promise<Block | undefined> {
    try {
      const { done, value } = await this.blocks.next();
      if (done !== true) return value;
    } catch (error) {
      if (this.leaving.signal.aborted) return undefined;
      this.unreadable = error as Error;
    }
    this.isRead = true;
    return undefined;
  }

  /** Of what holds no lines nothing is answered, however long it is: so it is shown how far it has come, and it can be stopped. */
  private read(bytes: number): void {
    this.leaving.signal.throwIfAborted();
    this.tally.read(bytes);
    this.publishSoon();
  }

  /** Asks until there is an answer, or a refusal. */
  private async ask(sent: Sent): Promise<BlockAnswer> {
    const { action, subject } = this.work;
    const { lines, key } = sent.block;
    const { signal } = this.leaving;
    for (;;) {
      try {
        return await action.send(client.peek(), subject.name)(lines, key, signal);
      } catch (error) {
        sent.unsure = !(error instanceof ServiceError) || error instanceof UnavailableError;
        if (signal.aborted || !isPassing(error)) throw error;
        const askedMs = error instanceof ServiceError ? (error.retryAfterSeconds ?? 0) * 1_000 : 0;
        await pause(Math.max(AGAIN_MS, askedMs), signal);
      }
    }
  }

  private isStopping(): boolean {
    return this.state.peek().is === 'stopping';
  }

  private end(failure = this.unreadable): void {
    // Of a file that hangs nobody waits for the end.
    void this.blocks.return(undefined);
    if (failure) this.turn({ is: 'failed', error: failure });
    else if (this.isRead && this.sent.length === 0) this.turn({ is: 'done' });
    else this.turn({ is: 'stopped', unknown: this.unknownLines() });
  }

  private unknownLines(): number {
    if (this.work.action.needs === 'read') return 0;
    return this.sent.reduce((sum, { block, unsure }) => sum + (unsure ? block.lines.length : 0), 0);
  }

  private turn(state: JobState): void {
    clearTimeout(this.timer);
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

/** It is looked at in its turn. */
function quiet<T>(promise: Promise<T>): Promise<T> {
  void promise.catch(() => undefined);
  return promise;
}

/** Until then, or until nobody waits any more. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const stop = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
      resolve();
    };
    const timer = setTimeout(stop, ms);
    signal.addEventListener('abort', stop);
  });
}
