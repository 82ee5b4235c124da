import type { IncomingMessage } from 'node:http';
import { SYSTEM_CLOCK, within } from '#store';
import type { Config } from '../config/config.js';
import { ProblemError } from '../errors/problem.js';
import type { Permit } from '../request/permit.js';

export interface StreamLimits {
  readonly maxStreamBytes: number;
  /** How long the sender may pause. */
  readonly idleMs: number;
  /** The average that the sender has to keep, over the time that it is waited for. */
  readonly minBytesPerSecond: number;
  /** Aborted when streams have to end. */
  readonly graceOver?: AbortSignal;
}

/** Those of the settings. */
export function streamLimits(config: StreamSettings): StreamLimits {
  return {
    maxStreamBytes: config.maxStreamBytes,
    idleMs: config.streamIdleMs,
    minBytesPerSecond: config.streamMinBytesPerSecond,
  };
}

type StreamSettings = Pick<Config, 'maxStreamBytes' | 'streamIdleMs' | 'streamMinBytesPerSecond'>;

/** A body that is read while it arrives, by the route that takes it. */
export class StreamedBody {
  private excess: ProblemError | undefined;
  private endWait: (() => void) | undefined;
  private left = false;

  constructor(
    readonly payload: IncomingMessage,
    private readonly permit?: Permit,
  ) {}

  /** Keeps the request's place while a part of the body is worked on, also when the sender is gone. */
  during<T>(work: () => Promise<T>): Promise<T> {
    return this.permit ? this.permit.during(work) : work();
  }

  /** Says how many bytes of the body are in memory, for the bytes in flight. */
  holds(bytes: number): void {
    this.excess = this.permit?.hold(bytes);
  }

  /**
   * Chunks as they come, bounded in time and total. Leaves the connection open whatever happens. Throws ProblemError:
   * REQUEST_TIMEOUT, also when the connection is closed in mid-body, BODY_TOO_LARGE, OVERLOADED once its caller's streams
   * hold too much, or the service has to end. Read it once.
   */
  async *chunks(limits: StreamLimits): AsyncGenerator<Buffer, void, undefined> {
    const source = this.payload.iterator({ destroyOnReturn: false });
    const pace = new Pace(limits);
    let total = 0;
    try {
      for (;;) {
        const next = await pace.keep(total, this.arrivalOf(source.next(), limits));
        if (next.done) return;
        if (this.excess) throw this.excess;
        const chunk = next.value as Buffer;
        const room = limits.maxStreamBytes - total;
        if (chunk.length > room) {
          yield chunk.subarray(0, room);
          throw new ProblemError(
            'BODY_TOO_LARGE',
            `a stream may have at most ${limits.maxStreamBytes} bytes; send the rest as another stream`,
          );
        }
        total += chunk.length;
        yield chunk;
      }
    } catch (error) {
      // Whatever the socket says of an aborted request, nobody will read the answer.
      throw error instanceof ProblemError
        ? error
        : new ProblemError('REQUEST_TIMEOUT', 'the client closed the connection before the end of the body', {
            cause: error,
          });
    } finally {
      // Not awaited: after a timeout the iterator is still waiting for the sender.
      source.return?.().catch(() => undefined);
    }
  }

  /** Nobody will take another chunk: ends the wait for one, and waits for none from now on. */
  leave(): void {
    this.left = true;
    this.endWait?.();
  }

  /** What arrives, unless nothing does for `idleMs`, or the grace or the wait is over before. */
  private async arrivalOf<T>(next: Promise<T>, { idleMs, graceOver }: StreamLimits): Promise<T> {
    const idle = (): ProblemError =>
      new ProblemError(
        'REQUEST_TIMEOUT',
        `the client sent nothing for ${idleMs} ms before the end of the stream; send without longer pauses`,
      );
    let end: (() => void) | undefined;
    const over = new Promise<never>((_, reject) => {
      this.endWait = () => reject(new Error('the wait was cancelled'));
      if (this.left) this.endWait();
      end = () => reject(new ProblemError('OVERLOADED', 'the service is shutting down'));
      if (graceOver?.aborted) end();
      else graceOver?.addEventListener('abort', end);
    });
    try {
      return await within(idleMs, Promise.race([over, next]), idle);
    } finally {
      this.endWait = undefined;
      if (end) graceOver?.removeEventListener('abort', end);
    }
  }
}

/** Cuts off senders that never pause for too long and never get anywhere. */
class Pace {
  private waitedMs = 0;

  constructor(private readonly limits: StreamLimits) {}

  /** Waits for `arrival`. REQUEST_TIMEOUT if all waiting so far is more than `bytes` allow, and a pause beside. */
  async keep<T>(bytes: number, arrival: Promise<T>): Promise<T> {
    const { idleMs, minBytesPerSecond } = this.limits;
    const from = SYSTEM_CLOCK.monotonic();
    const arrived = await arrival;
    this.waitedMs += SYSTEM_CLOCK.monotonic() - from;
    if (this.waitedMs <= idleMs + (bytes / minBytesPerSecond) * 1_000) return arrived;
    throw new ProblemError(
      'REQUEST_TIMEOUT',
      `a stream must send at least ${minBytesPerSecond} bytes per second`,
    );
  }
}
