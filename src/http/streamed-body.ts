import type { IncomingMessage } from 'node:http';
import { SYSTEM_CLOCK, within } from '#store';
import type { Config } from '../config/config.js';
import { ProblemError } from '../errors/problem.js';
import type { Permit } from '../request/permit.js';

export interface StreamLimits {
  readonly maxStreamBytes: number;
  /** How long the sender may pause. */
  readonly idleMs: number;
  /** The sender's minimum average rate over the time that the service waits for it. */
  readonly minBytesPerSecond: number;
  /** Aborted when streams must end. */
  readonly graceOver?: AbortSignal;
}

export function streamLimits(config: StreamSettings): StreamLimits {
  return {
    maxStreamBytes: config.maxStreamBytes,
    idleMs: config.streamIdleMs,
    minBytesPerSecond: config.streamMinBytesPerSecond,
  };
}

type StreamSettings = Pick<Config, 'maxStreamBytes' | 'streamIdleMs' | 'streamMinBytesPerSecond'>;

/** A body that the route reads while it arrives. */
export class StreamedBody {
  private excess: ProblemError | undefined;
  private endWait: (() => void) | undefined;
  private left = false;

  constructor(
    readonly payload: IncomingMessage,
    private readonly permit?: Permit,
  ) {}

  /** Keeps the request's place while a part of the body is processed, even if the sender has left. */
  during<T>(work: () => Promise<T>): Promise<T> {
    return this.permit ? this.permit.during(work) : work();
  }

  /** Sets the number of bytes of the body in memory, which count as bytes in flight. */
  holds(bytes: number): void {
    this.excess = this.permit?.hold(bytes);
  }

  /**
   * The chunks as they arrive, limited in time and total size. Always leaves the connection open. Throws ProblemError:
   * REQUEST_TIMEOUT (even if the connection closes before the end), BODY_TOO_LARGE, or OVERLOADED if its caller's
   * streams hold too much or the service must end. Call it once.
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
      // The client of an aborted request reads no answer, so any error will do.
      throw error instanceof ProblemError
        ? error
        : new ProblemError('REQUEST_TIMEOUT', 'the client closed the connection before the end of the body', {
            cause: error,
          });
    } finally {
      // Not awaited: after a timeout, the iterator still waits for the sender.
      source.return?.().catch(() => undefined);
    }
  }

  /** Cancels the wait for the next chunk, and prevents later waits. Call this when no more chunks are needed. */
  leave(): void {
    this.left = true;
    this.endWait?.();
  }

  /** Waits for `next`, but at most for `idleMs`, and only until the grace time ends or the wait is cancelled. */
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
      end = () => reject(new ProblemError('OVERLOADED', 'the service is shutting down; retry'));
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

/** Detects senders that never pause too long but are too slow on average. */
class Pace {
  private waitedMs = 0;

  constructor(private readonly limits: StreamLimits) {}

  /** Waits for `arrival`. Throws REQUEST_TIMEOUT if the total wait exceeds the time for `bytes` plus one pause. */
  async keep<T>(bytes: number, arrival: Promise<T>): Promise<T> {
    const { idleMs, minBytesPerSecond } = this.limits;
    const from = SYSTEM_CLOCK.monotonic();
    const arrived = await arrival;
    this.waitedMs += SYSTEM_CLOCK.monotonic() - from;
    if (this.waitedMs <= idleMs + (bytes / minBytesPerSecond) * 1_000) return arrived;
    throw new ProblemError(
      'REQUEST_TIMEOUT',
      `a stream must send at least ${minBytesPerSecond} bytes per second; send faster`,
    );
  }
}
