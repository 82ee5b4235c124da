import { Inject, Injectable } from '@nestjs/common';
import { positionsOf } from '#bloom';
import { deadlineIn, type Filter, type FilterKind, type Finding } from '#store';
import { Config } from '../config/config.js';
import { Store } from '../store/store.token.js';
import { countersView, findingView, type CountersView, type ExplainedItemsView } from './inspection.view.js';
import { OpenFilters } from './open-filters.js';

/** Shows people a filter's contents, and why it gives a result. Throws FILTER_NOT_FOUND and port errors. */
@Injectable()
export class InspectionService {
  constructor(
    @Inject(Store) private readonly store: Pick<Store, 'inspection'>,
    @Inject(Config) private readonly config: Pick<Config, 'requestTimeoutMs'>,
    private readonly filters: OpenFilters,
  ) {}

  async counters(name: string, kind: FilterKind): Promise<CountersView> {
    const deadline = this.deadline();
    return countersView(
      await this.filters.withFilter(name, kind, (filter) => this.store.inspection.sample(filter, deadline)),
    );
  }

  async explainItems(name: string, items: readonly string[]): Promise<ExplainedItemsView> {
    const deadline = this.deadline();
    return this.filters.withFilter(name, 'filter', async (filter) => {
      const found = await this.find(filter, items, deadline);
      return {
        items: items.map((item, n) => ({ item, ...findingView(filter, found[n] as Finding) })),
      };
    });
  }

  /** Returns one finding per key. Keys must be few and short. */
  find(filter: Filter, keys: readonly string[], deadline = this.deadline()): Promise<Finding[]> {
    return this.store.inspection.explain(filter, positionsOf(keys, filter.seed, filter.geometry), deadline);
  }

  private deadline(): number {
    return deadlineIn(this.config.requestTimeoutMs);
  }
}
