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

/** A filter of any strings. Reads like a Set. */
export class Filter extends Handle<Omit<CreateFilter, 'name'>, FilterDescription | LostFilter> {
  /** Adds items. `true`: it was not there. A multiset counts it in any case. */
  readonly add: Verb<string, boolean, ChangeOptions>;
  /** Whether items are there. */
  readonly has: Verb<string, boolean, CallOptions>;
  /** Removes items. `saturated`: one that no counting filter can remove. Throws ConflictError for a standard filter. */
  readonly remove: Verb<string, 'removed' | 'absent' | 'saturated', ChangeOptions>;
  /** How often items are there, at most 15. Throws ConflictError for a standard filter. */
  readonly count: Verb<string, number, CallOptions>;
  /** Keeping what is on a list, and forgetting the rest. */
  readonly syncs: Syncs<'kept' | 'new' | 'forgotten'>;

  constructor(service: Service, name: string) {
    super(service, 'filters', name);
    const route = (path: string, mutates: boolean) =>
      ({ path: `${this.path}/items/${path}`, member: 'items', mutates }) as const;
    const { batches } = service;
    this.add = verb(batches, route('add', true));
    this.has = verb(batches, route('check', false));
    this.remove = verb(batches, route('remove', true));
    this.count = verb(batches, route('count', false));
    this.syncs = new Syncs(service, this.path, 'items');
  }

  /** Why items are there or not: where their counters are, and what they have. At most 100. Throws NotFoundError. */
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

  /** Removes an item. `true`: it was there. Throws ConflictError for a standard filter. */
  async delete(item: string, options?: ChangeOptions): Promise<boolean> {
    return (await this.remove(item, options)) === 'removed';
  }
}
