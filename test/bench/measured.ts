import { cpuMicros, ownCpuMicros } from './process-usage.js';
import type { CpuPerItem, Speed } from './row.js';
import { median } from './statistics.js';

/** One timed piece of work: its wall time, and the CPU time of the processes that did it, in µs. */
export interface Measured {
  readonly items: number;
  readonly wall: number;
  readonly cpu: CpuTimes;
}

/** In µs. The client is this process. */
type CpuTimes = Record<keyof CpuPerItem, number | undefined>;

/** The other processes that work for a row. */
export interface Workers {
  readonly servicePid?: number;
  /** Redis' CPU time so far, in µs. */
  readonly serverMicros?: () => Promise<number>;
}

/** Times `work`, which processes a number of items. */
export async function measured(
  workers: Workers,
  items: number,
  work: () => Promise<unknown>,
): Promise<Measured> {
  const before = await cpuTimes(workers);
  const from = performance.now();
  await work();
  const wall = (performance.now() - from) * 1_000;
  const after = await cpuTimes(workers);
  const spent = (part: keyof CpuTimes) => {
    const [start, end] = [before[part], after[part]];
    return start === undefined || end === undefined ? undefined : end - start;
  };
  return {
    items,
    wall,
    cpu: { client: spent('client'), service: spent('service'), server: spent('server') },
  };
}

async function cpuTimes({ servicePid, serverMicros }: Workers): Promise<CpuTimes> {
  return {
    client: ownCpuMicros(),
    service: servicePid === undefined ? undefined : cpuMicros(servicePid),
    server: await serverMicros?.(),
  };
}

/** Median speed and median CPU per item over rounds of the same work, with each round's values. */
export function summary(rounds: readonly Measured[]): Required<Speed> & { rounds: readonly Speed[] } {
  return { ...medians(rounds), rounds: rounds.map((round) => medians([round])) };
}

function medians(rounds: readonly Measured[]): Required<Speed> {
  const part = (name: keyof CpuTimes): CpuPerItem => {
    const known = rounds.filter(({ cpu }) => cpu[name] !== undefined);
    if (known.length === 0) return {};
    return { [name]: median(known.map(({ items, cpu }) => (cpu[name] ?? NaN) / items)) };
  };
  return {
    itemsPerSecond: 1e6 / median(rounds.map(({ items, wall }) => wall / items)),
    cpu: { ...part('client'), ...part('service'), ...part('server') },
  };
}
