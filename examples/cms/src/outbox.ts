import { FullError, type VisitedSet } from 'unseen-client';
import type { Articles, Message, Upload } from './articles.js';
import { Loop } from './loop.js';
import { Turns } from './turns.js';

/** The service knows a repeat for 24 h. */
const RECORDS_MS = 23 * 3_600_000;
const REST_MS = 60_000;

/**
 * Tells the visited set what is to be visited and forgotten, one message after the other, in the order in which it came about: a
 * URL that was deleted and comes again is forgotten first. Each message has a key of its own, so that one that is sent again, since
 * its answer was lost or this program died, is done once.
 */
export class Outbox {
  private readonly loop: Loop;
  private readonly asked = new Map<string, (upload: Upload) => void>();
  private readonly stopping = new AbortController();
  private readonly turns = new Turns();

  constructor(
    private readonly set: VisitedSet,
    private readonly articles: Articles,
    /** Resolves when there is a set to tell. */
    private readonly ready: () => Promise<void>,
    private readonly log: (text: string) => void,
  ) {
    this.loop = new Loop({
      name: 'outbox',
      round: () => this.deliver(),
      restMs: () => REST_MS,
      log,
    });
  }

  /** There is a new message. */
  wake(): void {
    this.loop.wake();
  }

  /** What becomes of an upload, if that is known in time; else it is still waiting. */
  async outcome(upload: Upload, patienceMs: number): Promise<Upload> {
    const answered = new Promise<Upload>((resolve) => this.asked.set(upload.id, resolve));
    this.wake();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<Upload>((resolve) => {
      timer = setTimeout(resolve, patienceMs, upload);
    });
    try {
      return await Promise.race([answered, late]);
    } finally {
      clearTimeout(timer);
      this.asked.delete(upload.id);
    }
  }

  /** Does this when all has been told but what there is no room for, and before anything else is. Throws if the service is away. */
  whenTold<T>(work: () => Promise<T>): Promise<T> {
    return this.turns.take(async () => {
      await this.sendAll();
      return work();
    });
  }

  stop(): Promise<void> {
    this.stopping.abort();
    return this.loop.stop();
  }

  /** Throws if the service does not take all. */
  private async deliver(): Promise<void> {
    const full = await this.turns.take(() => this.sendAll());
    if (full !== undefined) throw full;
  }

  /** Answers what uploads are refused with while there is no room for them. The others go on: what is forgotten makes room. */
  private async sendAll(): Promise<FullError | undefined> {
    const { signal } = this.stopping;
    let full: FullError | undefined;
    for (;;) {
      // Each time: while a new set is told of the articles, none of them is forgotten.
      await this.ready();
      signal.throwIfAborted();
      const message = this.articles.nextMessage({ uploads: full === undefined });
      if (message === undefined) return full;
      try {
        await this.send(message, signal);
      } catch (error) {
        if (!(error instanceof FullError) || message.upload === undefined) throw error;
        full = error;
      }
    }
  }

  private async send(message: Message, signal: AbortSignal): Promise<void> {
    const { key, url, upload, firstSentAt } = message;
    const call = { idempotencyKey: key, signal };
    this.articles.sending(message);
    if (upload === undefined) {
      const answer = await this.set.forget(url, call);
      this.articles.forgotten(message);
      this.log(`${url}: ${answer}`);
      return;
    }
    const answer = await this.set.visit(url, call);
    const mayBeOwn = firstSentAt !== undefined && Date.now() - firstSentAt > RECORDS_MS;
    const became = this.articles.visited(message, answer, mayBeOwn);
    this.log(`${url}: ${answer}, ${became.state}`);
    this.asked.get(upload)?.(became);
  }
}
