import { Gauge, type Registry } from 'prom-client';
import {
  deadlineIn,
  joinAll,
  msUntil,
  StaleFilterError,
  StoreError,
  within,
  type Clock,
  type FilterKind,
  type Store,
} from '#store';
import { MOST_FILTERS, type BusyFilters } from './busy-filters.js';
import { filterFigures, type FilterFigure, type FilterRow } from './filter-figures.js';

const KINDS: readonly FilterKind[] = ['visited-set', 'filter'];
/** How long figures from the store stay fresh, so that several Prometheus servers don't multiply the reads. */
export const FRESH_MS = 5_000;
/**
 * How old figures may be if a read takes longer than a scrape. Prometheus should scrape at least once in two minutes,
 * so the next scrape shows what such a read found.
 */
export const LATE_MS = 120_000;
/** How long a scrape waits for the store. By default, Prometheus waits 10 s, of which checking a key may take 2 s. */
const PATIENCE_MS = 7_000;
/** Part of the help text of each figure. */
const SAME = 'All instances show the same value: use max';
/** Number of filters to read at a time, so that other calls reach the store in between. */
const AT_A_TIME = 10;

export interface FilterGaugesOptions {
  readonly store: Pick<Store, 'describe' | 'list' | 'open' | 'readiness'>;
  readonly filters: BusyFilters;
  readonly clock: Clock;
  readonly registry: Registry;
  /** Default: PATIENCE_MS. */
  readonly patienceMs?: number;
}

/** The filters that a read has found, and when it began and ended. */
interface Read {
  readonly rows: readonly FilterRow[];
  readonly began: number;
  readonly ended: number;
}

/**
 * Gauges whose values come from the store. A scrape reads at most MOST_FILTERS filters, and waits a limited time. If
 * the read takes longer, it continues for the next scrape. This scrape then shows the read before, if that is at most
 * LATE_MS old. If the store is unavailable, these gauges are missing, and two others say so.
 */
export class FilterGauges {
  private readonly gauges: ReadonlyMap<FilterFigure, Gauge>;
  private readonly ready: Gauge;
  private readonly lost: Gauge;
  private readonly success: Gauge;
  private readonly duration: Gauge;
  private readonly ageSeconds: Gauge;
  /** The read in progress. */
  private reading: Promise<void> | undefined;
  /** Undefined if the last read has failed, or if the store has not been ready since. */
  private last: Read | undefined;

  constructor(private readonly options: FilterGaugesOptions) {
    const { clock, registry } = options;
    const gauge = (name: string, help: string, labelNames: string[] = []): Gauge =>
      new Gauge({ name: `unseen_${name}`, help, labelNames, registers: [registry] });
    this.ready = gauge('store_ready', '1 if the store can serve requests');
    this.lost = gauge(
      'store_data_lost',
      '1 if all data in Redis that this instance knew was lost or replaced, and is not restored',
    );
    this.success = gauge(
      'store_scrape_success',
      '1 if the page has the gauges of filters, sets and queues. 0: the store did not answer in time',
    );
    this.duration = gauge(
      'store_scrape_duration_seconds',
      'How long the last complete read of filters from the store took',
    );
    this.ageSeconds = gauge(
      'store_scrape_age_seconds',
      'Age of the gauges of filters, sets and queues: time since their read began',
    );
    this.gauges = new Map(
      filterFigures((time) => Math.max(0, clock.now() - time) / 1_000).map((figure) => {
        const { name, help, label } = figure;
        return [
          figure,
          gauge(name, `${help}. ${SAME}`, ['kind', 'filter', ...(label === undefined ? [] : [label])]),
        ];
      }),
    );
  }

  /** Makes the gauges current, or shows that the store is unavailable. */
  async refresh(): Promise<void> {
    const deadline = deadlineIn(this.options.patienceMs ?? PATIENCE_MS);
    const { ready = false, lost } = (await inTime(deadline, this.options.store.readiness())) ?? {};
    this.ready.set(ready ? 1 : 0);
    if (ready) this.lost.set(lost ? 1 : 0);
    if (!ready) this.last = undefined;
    else if (!this.isFresh) await inTime(deadline, this.read());
    const { last, age } = this;
    const isShown = last !== undefined && age <= LATE_MS;
    this.success.set(isShown ? 1 : 0);
    this.show(isShown ? last.rows : []);
    if (isShown) this.ageSeconds.set(age / 1_000);
    else this.ageSeconds.remove();
  }

  private get isFresh(): boolean {
    const { last, age } = this;
    return last !== undefined && this.options.clock.monotonic() - last.ended < FRESH_MS && age <= LATE_MS;
  }

  /** Milliseconds since the last read began. */
  private get age(): number {
    return this.options.clock.monotonic() - (this.last?.began ?? -Infinity);
  }

  /** Reads the filters, and shares the read with other scrapes. Throws StoreError if the store is unavailable. */
  private read(): Promise<void> {
    this.reading ??= this.readAnew().finally(() => (this.reading = undefined));
    return this.reading;
  }

  private async readAnew(): Promise<void> {
    const { clock } = this.options;
    const began = clock.monotonic();
    try {
      const rows = await this.rows();
      this.last = { rows, began, ended: clock.monotonic() };
      this.duration.set((this.last.ended - began) / 1_000);
    } catch (error) {
      this.last = undefined;
      throw error;
    }
  }

  private show(rows: readonly FilterRow[]): void {
    for (const [{ of, label }, gauge] of this.gauges) {
      gauge.reset();
      for (const row of rows) {
        const value = of(row);
        const { kind, name: filter } = row.filter;
        if (typeof value === 'number') gauge.set({ kind, filter }, value);
        else if (value && label !== undefined) {
          for (const [one, part] of Object.entries(value)) gauge.set({ kind, filter, [label]: one }, part);
        }
      }
    }
  }

  private async rows(): Promise<FilterRow[]> {
    const { filters } = this.options;
    filters.round();
    await this.fillPlaces();
    const { shown } = filters;
    const rows: FilterRow[] = [];
    for (let from = 0; from < shown.length; from += AT_A_TIME) {
      const some = shown.slice(from, from + AT_A_TIME).map(({ kind, name }) => this.row(kind, name));
      for (const row of await joinAll(some)) if (row) rows.push(row);
    }
    return rows;
  }

  /** Shows filters without calls while there is room, by name. */
  private async fillPlaces(): Promise<void> {
    const { filters, store } = this.options;
    for (const kind of KINDS) {
      if (!filters.hasRoom) return;
      for (const { name } of (await store.list(kind, MOST_FILTERS)).filters) filters.offer(kind, name);
    }
  }

  /** A filter as it is now. Undefined if it is gone or lost, or changes at this moment. */
  private async row(kind: FilterKind, name: string, fresh = false): Promise<FilterRow | undefined> {
    const { filters, store } = this.options;
    try {
      const filter = await store.open(name, kind, { fresh });
      return { filter, stats: await store.describe(filter, { hosts: true }) };
    } catch (error) {
      if (error instanceof StaleFilterError) return fresh ? undefined : this.row(kind, name, true);
      if (!(error instanceof StoreError) || error.code === 'STORE_UNAVAILABLE') throw error;
      if (error.code === 'FILTER_NOT_FOUND') filters.forget(name);
      return undefined;
    }
  }
}

/** The result of `work`, or undefined if the store does not answer by the deadline, or is unavailable. */
async function inTime<T>(deadline: number, work: Promise<T>): Promise<T | undefined> {
  try {
    return await within(
      msUntil(deadline),
      work,
      () => new StoreError('STORE_UNAVAILABLE', 'no answer in time'),
    );
  } catch (error) {
    if (error instanceof StoreError) return undefined;
    throw error;
  }
}
