import { Inject, Injectable } from '@nestjs/common';
import type { Filter, Operation } from '#store';
import { named, tally, type Verdicts } from '../batches/tally.js';
import { OpenFilters } from '../filters/open-filters.js';
import { Store } from '../store/store.token.js';
import type { LeaseDto } from './visited-set.dto.js';
import type { LeasesView } from './visited-set.view.js';

// The index is a value of the port's Settled.
const ACK: Verdicts = named('unknown', 'acked', 'expired');
const RELEASE: Verdicts = named('unknown', 'released', 'expired');

/** The to-do queue of a visited set, between crawlers and the store. */
@Injectable()
export class CrawlQueueService {
  constructor(
    @Inject(Store) private readonly store: Store,
    private readonly filters: OpenFilters,
  ) {}

  async lease(name: string, { max, leaseSeconds }: LeaseDto, operation: Operation): Promise<LeasesView> {
    const entries = await this.on(name, (filter) =>
      this.store.queue.lease(filter, max, leaseSeconds * 1_000, operation),
    );
    return { urls: entries.map(({ id, payload, attempt }) => ({ id, url: payload, attempt })) };
  }

  async ack(name: string, ids: readonly string[], operation: Operation): Promise<{ results: string[] }> {
    return settled(await this.on(name, (filter) => this.store.queue.ack(filter, ids, operation)), ACK);
  }

  async release(name: string, ids: readonly string[], operation: Operation): Promise<{ results: string[] }> {
    return settled(
      await this.on(name, (filter) => this.store.queue.release(filter, ids, operation)),
      RELEASE,
    );
  }

  private on<T>(name: string, action: (filter: Filter) => Promise<T>): Promise<T> {
    return this.filters.withFilter(name, 'visited-set', action);
  }
}

function settled(bytes: Uint8Array, table: Verdicts): { results: string[] } {
  return { results: tally(bytes, table).results.map(String) };
}
