import { CASES, noRounds } from './batch-rounds.js';
import { FilterClient } from './filter-client.js';
import { summary } from './measured.js';
import { assertSetUp, atMost, totalCpu, type Row } from './row.js';
import { BASE_SIZE, sizeName } from './sizes.js';

const ERROR_RATE = 1e-2;
/** Limit on the cost relative to BASE_SIZE. Memory is farther away in larger filters, but nothing else may grow. */
const FLATNESS = 1.3;

/** A filter that is filled almost to its capacity. A round works on the last items. */
export class FilledFilter {
  readonly rounds = noRounds();

  private constructor(
    readonly size: number,
    /** A round's items. */
    readonly items: number,
    readonly client: FilterClient,
  ) {}

  static async create(port: number, size: number, items: number, width: number): Promise<FilledFilter> {
    const client = new FilterClient(port, `filled-${sizeName(size)}`, width);
    await client.create(size, ERROR_RATE);
    // Rounds use the items from 0 on.
    await client.fill(items, size - items);
    const { items: stored } = await client.view();
    const wanted = size - items;
    assertSetUp(stored > wanted * (1 - ERROR_RATE), `${stored} of ${wanted} items are stored`);
    return new FilledFilter(size, items, client);
  }
}

/** One row per case. For a filter above 10^6 it includes the cost relative to the filter for 10^6. */
export function sizeRows(store: string, filters: readonly FilledFilter[], filter: FilledFilter): Row[] {
  const base = filters.find(({ size }) => size === BASE_SIZE);
  return CASES.map((name): Row => {
    const row: Row = { name: `${store}-${sizeName(filter.size)}/${name}`, ...summary(filter.rounds[name]) };
    if (base === undefined || filter.size <= base.size) return row;
    const times = totalCpu(row.cpu ?? {}) / totalCpu(summary(base.rounds[name]).cpu);
    return { ...row, targets: [atMost('total CPU relative to 10^6 items', times, FLATNESS, '×')] };
  });
}
