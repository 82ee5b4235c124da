import type { Socket } from 'node:net';
import { Inject, Injectable } from '@nestjs/common';
import { Gauge } from 'prom-client';
import { after, type Filter, type LeasedEntry } from '#store';
import { Config } from '../config/config.js';
import { Lifecycle } from '../http/lifecycle.js';
import { Metrics } from '../metrics/metrics.js';
import { contextOf } from '../request/context.js';
import type { Permit } from '../request/permit.js';
import type { Request } from '../request/request.js';
import { Clock } from '../store/clock.token.js';
import { Store } from '../store/store.token.js';
import { keepingTrace, outsideTraces } from '../tracing/trace.js';
import { LeaseWaiters, type Lease } from './lease-waiters.js';

/**
 * Maximum number of waiting leases, in total and per caller. Further leases return immediately, as if they hadn't asked
 * to wait.
 */
const MAX_WAITING = 10_000;
const MAX_WAITING_OF_CALLER = 1_000;

/** A client that may wait for its lease. */
export interface WaitingClient {
  readonly permit: Permit | undefined;
  /**
   * Calls `leave` when the client stops waiting, or at once if it already has. The returned function ends the watch.
   */
  readonly watch: (leave: () => void) => () => void;
}

/** The client that sent a request. */
export function clientOf({ raw }: Request): WaitingClient {
  return { permit: contextOf(raw).permit, watch: (leave) => watchSocket(raw.socket, leave) };
}

/**
 * Treats a client that has ended its side as gone, because only sending the answer would show whether it still reads.
 */
export function watchSocket(socket: Socket, leave: () => void): () => void {
  if (socket.readableEnded || socket.destroyed) leave();
  socket.once('end', leave).once('close', leave);
  return () => socket.off('end', leave).off('close', leave);
}

/**
 * Leases that wait for entries in their visited set's queue, grouped by set. A waiting request doesn't count as in
 * flight.
 */
@Injectable()
export class WaitingLeases {
  private readonly waiters = new Map<string, LeaseWaiters>();
  private readonly ofCaller = new Map<string | undefined, number>();
  private waiting = 0;

  constructor(
    @Inject(Store) private readonly store: Store,
    @Inject(Config) private readonly config: Config,
    private readonly lifecycle: Lifecycle,
    { registry }: Metrics,
    @Inject(Clock) private readonly clock: Clock,
  ) {
    const waiting = (): number => this.waiting;
    new Gauge({
      name: 'unseen_leases_waiting',
      help: 'Lease requests that wait for URLs in a queue',
      registers: [registry],
      collect() {
        this.set(waiting());
      },
    });
    lifecycle.ending.addEventListener('abort', () => {
      for (const waiters of this.waiters.values()) waiters.dismiss();
    });
  }

  /**
   * Resolves with the entries that `lease` finds within `waitMs`, or with none if the service ends or the client leaves
   * before. Rejects with the error from `lease`.
   */
  async wait(
    filter: Filter,
    lease: Lease,
    waitMs: number,
    { permit, watch }: WaitingClient,
  ): Promise<LeasedEntry[]> {
    const caller = permit?.caller;
    if (this.lifecycle.shuttingDown || !this.hasRoomFor(caller)) return [];
    const left = new AbortController();
    const leave = (): void => left.abort();
    const unwatch = watch(leave);
    this.count(caller, 1);
    const cancel = after(this.clock, waitMs, leave);
    try {
      if (left.signal.aborted) return [];
      permit?.park();
      // The request that adds an entry wakes the waiters.
      return await this.waitersOf(filter).wait(keepingTrace(lease), left.signal);
    } finally {
      cancel();
      unwatch();
      this.count(caller, -1);
    }
  }

  private hasRoomFor(caller: string | undefined): boolean {
    return this.waiting < MAX_WAITING && (this.ofCaller.get(caller) ?? 0) < MAX_WAITING_OF_CALLER;
  }

  private count(caller: string | undefined, change: 1 | -1): void {
    this.waiting += change;
    const count = (this.ofCaller.get(caller) ?? 0) + change;
    if (count === 0) this.ofCaller.delete(caller);
    else this.ofCaller.set(caller, count);
  }

  /** A generation's waiters. Dropped when the last caller leaves. */
  private waitersOf(filter: Filter): LeaseWaiters {
    const { generation } = filter;
    let waiters = this.waiters.get(generation);
    if (waiters === undefined) {
      waiters = new LeaseWaiters({
        watch: (wake) => outsideTraces(() => this.store.queue.watch(filter, wake)),
        timeoutMs: this.config.requestTimeoutMs,
        clock: this.clock,
        onEmpty: () => this.waiters.delete(generation),
      });
      this.waiters.set(generation, waiters);
    }
    return waiters;
  }
}
