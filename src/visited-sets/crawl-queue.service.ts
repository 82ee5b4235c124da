import { Inject, Injectable } from '@nestjs/common';
import type { Filter, LeasedEntry, Operation } from '#store';
import { named, tally, type Verdicts } from '../batches/tally.js';
import { DEFAULT_PAGE } from '../filters/filter.dto.js';
import { OpenFilters } from '../filters/open-filters.js';
import { Store } from '../store/store.token.js';
import { ListCursor } from './list-cursor.js';
import { refuseAgain } from './order.js';
import { refuseHostOption } from '../filters/per-host.js';
import { decodeQueued } from './queued-url.js';
import type { AckDto, QueuePageQueryDto, ExtendDto, LeaseDto, ReleaseDto } from './visited-set.dto.js';
import type { DeadLettersView, LeasesView } from './visited-set.view.js';
import { WaitingLeases, type WaitingClient } from './waiting-leases.js';

// Indexed by the port's Settled.
const ACK: Verdicts = named('unknown', 'acked', 'expired');
const RELEASE: Verdicts = named('unknown', 'released', 'expired');
const EXTEND: Verdicts = named('unknown', 'extended', 'expired');
const PUT_BACK: Verdicts = named('unknown', 'put back');
const PURGE: Verdicts = named('unknown', 'purged');

interface Results {
  readonly results: string[];
}

/** A visited set's queue, for crawlers. */
@Injectable()
export class CrawlQueueService {
  constructor(
    @Inject(Store) private readonly store: Store,
    private readonly filters: OpenFilters,
    private readonly waiting: WaitingLeases,
  ) {}

  /**
   * Leases entries. If none are available, waits as long as the caller allows. While it waits, the request doesn't
   * count as in flight.
   */
  async lease(name: string, dto: LeaseDto, operation: Operation, client: WaitingClient): Promise<LeasesView> {
    const { max, leaseSeconds, waitSeconds = 0, maxPerHost } = dto;
    const limits = maxPerHost === undefined ? undefined : { maxPerHost };
    const lease = (deadline: number): Promise<LeasedEntry[]> =>
      this.on(name, (filter) => {
        refuseHostOption(filter, 'maxPerHost', maxPerHost);
        return this.store.queue.lease(filter, max, leaseSeconds * 1_000, { ...operation, deadline }, limits);
      });
    let entries = await lease(operation.deadline);
    if (entries.length === 0 && waitSeconds > 0) {
      const filter = await this.filters.open(name, 'visited-set');
      entries = await this.waiting.wait(filter, lease, waitSeconds * 1_000, client);
    }
    return {
      urls: entries.map(({ id, payload, attempt }) => ({ id, ...decodeQueued(payload), attempt })),
    };
  }

  ack(name: string, { ids, againAfterSeconds }: AckDto, operation: Operation): Promise<Results> {
    const againAfterMs = againAfterSeconds && againAfterSeconds * 1_000;
    return this.settle(name, ACK, (filter) => {
      refuseAgain(filter, againAfterSeconds);
      return this.store.queue.ack(filter, ids, operation, againAfterMs);
    });
  }

  release(name: string, dto: ReleaseDto, operation: Operation): Promise<Results> {
    const { ids, delaySeconds = 0, reason = '', countAttempt = true, hostDelaySeconds } = dto;
    const hostDelayMs = (hostDelaySeconds ?? 0) * 1_000;
    const release = { delayMs: delaySeconds * 1_000, reason, countAttempt, hostDelayMs };
    return this.settle(name, RELEASE, (filter) => {
      refuseHostOption(filter, 'hostDelaySeconds', hostDelaySeconds);
      return this.store.queue.release(filter, ids, operation, release);
    });
  }

  extend(name: string, { ids, leaseSeconds }: ExtendDto, operation: Operation): Promise<Results> {
    return this.settle(name, EXTEND, (filter) =>
      this.store.queue.extend(filter, ids, leaseSeconds * 1_000, operation),
    );
  }

  async deadLetters(name: string, { limit, cursor }: QueuePageQueryDto): Promise<DeadLettersView> {
    return this.on(name, async (filter) => {
      const list = new ListCursor(filter, 'dead-letters');
      const most = Number(limit ?? DEFAULT_PAGE);
      const { entries, next } = await this.store.queue.deadLetters(filter, most, list.open(cursor));
      const urls = entries.map(({ payload, ...entry }) => ({ ...entry, ...decodeQueued(payload) }));
      return { urls, ...list.nextOf(next) };
    });
  }

  putBack(name: string, ids: readonly string[], operation: Operation): Promise<Results> {
    return this.settle(name, PUT_BACK, (filter) => this.store.queue.putBack(filter, ids, operation));
  }

  purge(name: string, ids: readonly string[], operation: Operation): Promise<Results> {
    return this.settle(name, PURGE, (filter) => this.store.queue.purge(filter, ids, operation));
  }

  private async settle(
    name: string,
    table: Verdicts,
    action: (filter: Filter) => Promise<Uint8Array>,
  ): Promise<Results> {
    return { results: tally(await this.on(name, action), table).results.map(String) };
  }

  private on<T>(name: string, action: (filter: Filter) => Promise<T>): Promise<T> {
    return this.filters.withFilter(name, 'visited-set', action);
  }
}
