import { atLeast, atMost, totalCpu, type Row, type Target } from '../row.js';

/** The row to compare the others with: what crawlers usually do today. */
export const SET_ROW = 'sadd-sha1-pipelined';

/** As durable as the embedded store. */
const CUCKOO_ROW = 'redisbloom-cuckoo-synced';
const URL_MICROS = 0.6;
const URLS_PER_SECOND = 500_000;

/** Redis' CPU relative to the set, which at this size fits into the processor's cache. */
function redisAgainstSet(row: Row, rows: readonly Row[]): Target[] {
  const set = rows.find(({ name }) => name === `mix/${SET_ROW}`)?.cpu?.server;
  const own = row.cpu?.server;
  if (set === undefined || own === undefined) return [];
  return [atMost(`Redis CPU relative to ${SET_ROW}`, own / set, 1, '×')];
}

/** The targets for a row of the real mix, relative to other rows of the same run. Empty for rows without targets. */
export function mixTargets(row: Row, rows: readonly Row[]): { targets?: Target[] } {
  const cpuOf = (name: string) => {
    const cpu = rows.find((other) => other.name === `mix/${name}`)?.cpu;
    return cpu === undefined ? undefined : totalCpu(cpu);
  };
  const own = totalCpu(row.cpu ?? {});
  const against = (name: string, limit: number): Target[] => {
    const other = cpuOf(name);
    return other === undefined ? [] : [atMost(`total CPU relative to ${name}`, own / other, limit, '×')];
  };
  switch (row.name) {
    case 'mix/unseen-embedded-items':
      return { targets: [SET_ROW, 'sadd-sha1-variadic', CUCKOO_ROW].flatMap((name) => against(name, 1)) };
    case 'mix/unseen-embedded-urls': {
      const beyond = own - (cpuOf('unseen-embedded-items') ?? NaN);
      return { targets: [atMost('total CPU beyond that of plain items', beyond, URL_MICROS, 'µs')] };
    }
    case 'mix/unseen-redis-items':
      return { targets: [...against(SET_ROW, 0.5), ...redisAgainstSet(row, rows)] };
    case 'mix/unseen-redis-urls':
      return { targets: [atLeast('URLs per second', row.itemsPerSecond ?? NaN, URLS_PER_SECOND, 'URLs/s')] };
    default:
      return {};
  }
}
