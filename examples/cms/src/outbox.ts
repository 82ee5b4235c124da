import type { VisitedSet } from 'unseen-client';
import type { Articles, Message, Upload } from './articles.js';
import { Loop } from './loop.js';

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
  private delivery: Promise<void> | undefined;

  constructor(
    private readonly set: VisitedSet,
    private readonly articles: Articles,
    /** Resolves when there is a set to tell. */
    private readonly ready: () => Promise<void>,
    private readonly log: (text: string) => void,
  ) {
    this.loop = new Loop({
      name: 'outbox',
      round: (signal) => this.deliver(signal),
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

  /** Sends all that waits; whoever calls, one message is under way. Throws if the service does not take it. */
  deliver(signal?: AbortSignal): Promise<void> {
    this.delivery ??= this.sendAll(signal).finally(() => (this.delivery = undefined));
    return this.delivery;
  }

  stop(): Promise<void> {
    return this.loop.stop();
  }

  private async sendAll(signal: AbortSignal | undefined): Promise<void> {
    await this.ready();
    for (;;) {
      const message = this.articles.nextMessage();
      if (message === undefined || signal?.aborted === true) return;
      await this.send(message, signal);
    }
  }

  private async send(message: Message, signal: AbortSignal | undefined): Promise<void> {
    const { key, url, upload, firstSentAt } = message;
    const call = { idempotencyKey: key, ...(signal && { signal }) };
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
