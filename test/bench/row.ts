/** What one row of the bench measured. Rows are compared between runs by their names, which are stable. */
export interface Row extends Speed {
  readonly name: string;
  /** What the medians were taken of, where it was measured in rounds. */
  readonly rounds?: readonly Speed[];
  /** Of one call, as its caller sees it. */
  readonly latency?: Latency;
  /** Memory of the whole structure against the items that it holds, or is made for. */
  readonly bytesPerItem?: number;
  /** Share of items never added that are answered present, as counted. */
  readonly errorRate?: number;
  /** CPU of the compared part against the same part of another row of this run, which holds better than absolutes. */
  readonly ratio?: { readonly value: number; readonly against: string };
  /** Everything else. */
  readonly figures?: readonly Figure[];
  readonly targets?: readonly Target[];
}

/** What items cost. */
export interface Speed {
  readonly itemsPerSecond?: number;
  readonly cpu?: CpuPerItem;
}

/** CPU time, user and system, of all threads of a process, in µs per item. */
export interface CpuPerItem {
  readonly client?: number;
  readonly service?: number;
  /** Redis. */
  readonly server?: number;
}

/** The sum of what is known. */
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

/** Rows that are measured together, chosen by name with --rows. */
export interface Group {
  readonly name: string;
  measure(options: BenchOptions): Promise<Row[]>;
}

export interface BenchOptions {
  /** A fraction of the work, one round each: shows that everything runs, not how fast. */
  readonly quick: boolean;
  /** How long what is measured works before that. */
  readonly warmUpSeconds: number;
  /** Least time of measurement per row, where rows repeat until it is over. */
  readonly seconds: number;
  /** Items of the largest filters, if not those of every run: see sizes.ts. */
  readonly size?: number | undefined;
  /** URLs to canonicalise, one a line. */
  readonly file: string;
  /** Folder for CPU profiles of the service, if wanted. */
  readonly profileDir: string | undefined;
}

/** The set-up of a row does not hold, so its figures would mean nothing. */
export function assertSetUp(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Error(`the set-up does not hold: ${what}`);
}
