import { Inject, Injectable } from '@nestjs/common';
import type { FilterKind, Store as Port } from '#store';
import { inWordsOf } from '../filters/open-filters.js';
import { Clock } from '../store/clock.token.js';
import { Store } from '../store/store.token.js';
import { HistorySampler, INTERVAL_MS } from './history-sampler.js';
import { MOST_SECONDS, type HistoryQueryDto } from './history.dto.js';
import { pointView, type HistoryView } from './history.view.js';

/** Filter histories, as recorded by this instance. */
@Injectable()
export class HistoryService {
  constructor(
    @Inject(Store) private readonly store: Pick<Port, 'open'>,
    private readonly sampler: HistorySampler,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** Throws FILTER_NOT_FOUND or VISITED_SET_NOT_FOUND, and port errors. */
  async of(name: string, kind: FilterKind, { seconds }: HistoryQueryDto): Promise<HistoryView> {
    // Not from a cache, because another instance may have cleared the filter.
    const { generation } = await this.store.open(name, kind, { fresh: true }).catch((error: unknown) => {
      throw inWordsOf(kind, name, error);
    });
    const now = this.clock.now();
    const start = now - Number(seconds ?? MOST_SECONDS) * 1_000;
    const known = this.sampler.of(name);
    const history = known?.generation === generation ? known : undefined;
    return {
      watched: this.sampler.watches(name),
      since: new Date(history ? Math.max(history.since, start) : now).toISOString(),
      intervalSeconds: INTERVAL_MS / 1_000,
      points: (history?.ring.from(start) ?? []).map((point) => pointView(point, kind === 'visited-set')),
    };
  }
}
