/** The measurements in one row of the bench. Comparisons match rows by name, so names are stable. */
export interface Row extends Speed {
  readonly name: string;
  /** Each round's values, if it was measured in rounds. The row has their medians. */
  readonly rounds?: readonly Speed[];
  /** Latency of one call, as its caller sees it. */
  readonly latency?: Latency;
  /** Memory per item, for the whole structure: either per item that it contains or per item that it is made for. */
  readonly bytesPerItem?: number;
  /** Measured share of items that were never added but test positive. */
  readonly errorRate?: number;
  /**
   * The CPU of the compared part relative to the same part in another row of this run. Ratios vary less than absolute
   * values.
   */
  readonly ratio?: { readonly value: number; readonly against: string };
  /** All other figures. */
  readonly figures?: readonly Figure[];
  readonly targets?: readonly Target[];
}

/** The cost of items. */
export interface Speed {
  readonly itemsPerSecond?: number;
  readonly cpu?: CpuPerItem;
}

/** CPU time, user and system, of all threads of a process, in µs per item. */
export interface CpuPerItem {
  readonly client?: number;
  readonly service?: number;
  /** Redis' CPU. */
  readonly server?: number;
}

/** The sum of the known parts. */
export function totalCpu({ client = 0, service = 0, server = 0 }: CpuPerItem): number {
  return client + service + server;
}

/** In ms. */
export interface Latency {
  readonly p50: number;
  readonly p99: number;
}

export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
}

export interface Target {
  readonly what: string;
  readonly measured: number;
  readonly unit: string;
  readonly bound: 'at most' | 'at least';
  readonly limit: number;
  readonly met: boolean;
}

export function atMost(what: string, measured: number, limit: number, unit: string): Target {
  return { what, measured, unit, bound: 'at most', limit, met: measured <= limit };
}

export function atLeast(what: string, measured: number, limit: number, unit: string): Target {
  return { what, measured, unit, bound: 'at least', limit, met: measured >= limit };
}

/** Rows that are measured together. --rows selects them by name. */
export interface Group {
  readonly name: string;
  measure(options: BenchOptions): Promise<Row[]>;
}

export interface BenchOptions {
  /** Does a fraction of the work in one round. This shows that everything works, but not how fast it is. */
  readonly quick: boolean;
  /** How long the measured processes work before the measurement. */
  readonly warmUpSeconds: number;
  /** Minimum measuring time per row, for rows that repeat. */
  readonly seconds: number;
  /** Items in the largest filters, instead of the default sizes (see sizes.ts). */
  readonly size?: number | undefined;
  /** File with the URLs to canonicalise, one per line. */
  readonly file: string;
  /** Folder for CPU profiles of the service. Undefined for none. */
  readonly profileDir: string | undefined;
}

/** Throws if a row's set-up is wrong, because its figures would mean nothing. */
export function assertSetUp(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Error(`the set-up does not hold: ${what}`);
}
