import type { Filter, FilterKind, ListPage } from '../../port/index.js';
import type { FilterState } from '../filters/filter-state.js';

/** A page of filters of one kind, sorted by name. See `Store.list`. */
export function listFilters(
  states: Iterable<FilterState>,
  kind: FilterKind,
  limit: number,
  after: string | undefined,
  prefix: string,
): ListPage {
  const first: Filter[] = [];
  for (const { filter } of states) {
    const { name } = filter;
    if (filter.kind !== kind || !name.startsWith(prefix) || (after !== undefined && name <= after)) continue;
    insertByName(first, filter, limit + 1);
  }
  const filters = first.slice(0, limit);
  const last = filters.at(-1);
  return { filters, ...(last && first.length > limit ? { next: last.name } : {}) };
}

/**
 * Inserts a filter into a sorted array and keeps its first `most`. Sorting ten thousand filters for one page would cost
 * more.
 */
function insertByName(first: Filter[], filter: Filter, most: number): void {
  const { name } = filter;
  if (first.length === most && (first[most - 1] as Filter).name < name) return;
  let low = 0;
  for (let high = first.length; low < high;) {
    const middle = (low + high) >> 1;
    if ((first[middle] as Filter).name < name) low = middle + 1;
    else high = middle;
  }
  first.splice(low, 0, filter);
  if (first.length > most) first.pop();
}
