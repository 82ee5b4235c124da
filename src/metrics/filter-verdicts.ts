import { Counter, type Registry } from 'prom-client';
import type { FilterKind } from '#store';
import type { BusyFilters, Used } from './busy-filters.js';

/** The label for all filters without their own series. No filter can have this name. */
export const OTHERS = '(others)';

/** Items by verb and verdict, which are separated by a newline. */
type Tallies = Map<string, number>;

type Row = readonly [labels: Record<string, string>, count: number];

/** Counts items by filter. */
export class FilterVerdicts {
  private readonly others = new Map<FilterKind, Tallies>();

  constructor(
    private readonly filters: BusyFilters,
    registry: Registry,
  ) {
    const rows = () => this.rows();
    new Counter({
      name: 'unseen_filter_verdicts_total',
      help: `Items and URLs by filter, verb and verdict. filter="${OTHERS}": all filters without series of their own`,
      labelNames: ['kind', 'filter', 'verb', 'verdict'],
      registers: [registry],
      collect() {
        this.reset();
        for (const [labels, count] of rows()) this.inc(labels, count);
      },
    });
  }

  count(used: Used, verb: string, counts: Readonly<Record<string, number>>): void {
    let items = 0;
    for (const verdict in counts) items += counts[verdict] as number;
    const tallies = this.filters.use(used, items)?.tallies ?? this.othersOf(used.kind);
    for (const verdict in counts) {
      const key = `${verb}\n${verdict}`;
      tallies.set(key, (tallies.get(key) ?? 0) + (counts[verdict] as number));
    }
  }

  private othersOf(kind: FilterKind): Tallies {
    let tallies = this.others.get(kind);
    if (!tallies) this.others.set(kind, (tallies = new Map()));
    return tallies;
  }

  private *rows(): Generator<Row, void, undefined> {
    for (const { kind, name, tallies } of this.filters.busy) yield* rowsOf(kind, name, tallies);
    for (const [kind, tallies] of this.others) yield* rowsOf(kind, OTHERS, tallies);
  }
}

function* rowsOf(kind: FilterKind, filter: string, tallies: Tallies): Generator<Row, void, undefined> {
  for (const [key, count] of tallies) {
    const [verb = '', verdict = ''] = key.split('\n');
    yield [{ kind, filter, verb, verdict }, count];
  }
}
