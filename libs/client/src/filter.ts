import type {
  CreateFilter,
  ExplainedItem,
  ExplainedItems,
  Filter as FilterDescription,
  LostFilter,
} from './api-types.js';
import type { CallOptions, ChangeOptions, Verb } from './batches.js';
import { Handle, type Service } from './handle.js';
import { Syncs } from './syncs.js';
import { verb } from './verbs.js';

/** Options for `add`. */
export interface AddOptions extends ChangeOptions {
  /**
   * In a multiset: adds only absent items, and doesn't count present ones. Default: false. A filter with `set`
   * semantics always adds like this.
   */
  readonly onlyAbsent?: boolean;
}

/** A filter of strings, with the methods of a Set. */
export class Filter extends Handle<Omit<CreateFilter, 'name'>, FilterDescription | LostFilter> {
  /**
   * Adds items. `true`: the item was absent. A multiset counts the item even if it was present, unless `onlyAbsent` is
   * true.
   */
  readonly add: Verb<string, boolean, AddOptions>;
  /** Checks whether items are present. */
  readonly has: Verb<string, boolean, CallOptions>;
  /**
   * Removes items. `saturated`: the item can't be removed, because all its counters are at their maximum. Throws
   * ConflictError for a standard filter.
   */
  readonly remove: Verb<string, 'removed' | 'absent' | 'saturated', ChangeOptions>;
  /** Returns how many times items are present, at most 15. Throws ConflictError for a standard filter. */
  readonly count: Verb<string, number, CallOptions>;
  /** Syncs: keep the items in an input list and forget all others. */
  readonly syncs: Syncs<'kept' | 'new' | 'forgotten'>;

  constructor(service: Service, name: string) {
    super(service, 'filters', name);
    const route = (path: string, mutates: boolean) =>
      ({ path: `${this.path}/items/${path}`, member: 'items', mutates }) as const;
    const { batches } = service;
    this.add = verb(batches, route('add', true), ({ onlyAbsent }: AddOptions) => ({ onlyAbsent }));
    this.has = verb(batches, route('check', false));
    this.remove = verb(batches, route('remove', true));
    this.count = verb(batches, route('count', false));
    this.syncs = new Syncs(service, this.path, 'items');
  }

  /** Explains the results for at most 100 items: their counters and the counters' values. Throws NotFoundError. */
  async explain(items: readonly string[], { signal }: CallOptions = {}): Promise<ExplainedItem[]> {
    const { items: explained } = await this.service.requests.json<ExplainedItems>({
      method: 'POST',
      path: `${this.path}/items/explain`,
      json: { items },
      repeatable: true,
      signal,
    });
    return explained;
  }

  /** Removes an item. `true`: the item was present. Throws ConflictError for a standard filter. */
  async delete(item: string, options?: ChangeOptions): Promise<boolean> {
    return (await this.remove(item, options)) === 'removed';
  }
}
