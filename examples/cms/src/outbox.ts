import { FullError, type VisitedSet } from 'unseen-client';
import type { Articles, Message, Upload } from './articles.js';
import { Loop } from './loop.js';
import { Turns } from './turns.js';

/** The service recognizes retries for 24 h. */
const RECORDS_MS = 23 * 3_600_000;
const REST_MS = 60_000;

/**
 * Sends the pending messages to the visited set, one at a time and in order. So if a URL was deleted and is added
 * again, it is forgotten first. Each message has its own key. So a message is executed once even if it is sent again,
 * because its answer was lost or the CMS was killed.
 */
export class Outbox {
  private readonly loop: Loop;
  private readonly asked = new Map<string, (upload: Upload) => void>();
  private readonly stopping = new AbortController();
  private readonly turns = new Turns();

  constructor(
    private readonly set: VisitedSet,
    private readonly articles: Articles,
    /** Resolves when the set exists. */
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

  /** Starts sending, because a message is pending. */
  wake(): void {
    this.loop.wake();
  }

  /** An upload's state after at most `patienceMs`. It may still be `waiting`. */
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

  /**
   * Runs `work` after all messages were sent, except uploads for which the set has no room. Sends no messages while it
   * runs. Throws if the service is unavailable.
   */
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

  /** Throws if a message could not be sent. */
  private async deliver(): Promise<void> {
    const full = await this.turns.take(() => this.sendAll());
    if (full !== undefined) throw full;
  }

  /**
   * Returns the error of uploads for which the set has no room. Other messages are still sent, because forgetting makes
   * room.
   */
  private async sendAll(): Promise<FullError | undefined> {
    const { signal } = this.stopping;
    let full: FullError | undefined;
    for (;;) {
      // Before each message: while URLs are added to a new set, none of them may be forgotten.
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
