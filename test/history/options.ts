import { parseArgs } from 'node:util';

export const USAGE = `npm run history -- [options]

  --store NAME       embedded, redis or cluster (embedded)
  --seconds N        how long clients work and faults strike (60)
  --seed N           seed that chooses operations and faults (random)
  --clients N        number of concurrent clients of the filters (16)
  --workers N        number of concurrent workers on the queue (6)
  --per-host         the queue has limits for each host (no)
  --crawlers N       number of concurrent clients of visited sets that are being synced; one of the sets ages (6)
  --faults KINDS     separated by commas, or "none" (default: all that the store has):
                       kill, pause        of a service: SIGKILL and a restart; SIGSTOP
                       cut                connections of clients
                       store-kill, store-pause, store-cut
                                          the same of a Redis server (store-kill: not of a cluster)
                       link-down, link-cut, link-delay
                                          between a service and Redis: down for a while; cut off; delivered late
                       failover           of a cluster: a master dies, its replica takes over
                       handover           of a cluster: a master and its replica swap roles
                       move               of a cluster: slots go to another master under traffic
  --wait N           cluster: REDIS_WAIT_REPLICAS, 0 or 1; with 1, failovers lose no answered change (0)
  --out FILE         file for the whole history if a guarantee is broken (history.json)
`;

const STORES = ['embedded', 'redis', 'cluster'] as const;

const FAULTS = {
  embedded: ['kill', 'pause', 'cut'],
  redis: [
    'kill',
    'pause',
    'cut',
    'store-kill',
    'store-pause',
    'store-cut',
    'link-down',
    'link-cut',
    'link-delay',
  ],
  cluster: ['kill', 'pause', 'cut', 'store-pause', 'store-cut', 'failover', 'handover', 'move'],
} as const;

export interface Options {
  readonly store: (typeof STORES)[number];
  readonly seconds: number;
  readonly seed: number;
  readonly clients: number;
  readonly workers: number;
  readonly byHost: boolean;
  readonly crawlers: number;
  readonly faults: readonly string[];
  readonly wait: number;
  readonly out: string;
}

/** Parses the command line. Throws an error whose message names the problem. */
export function readOptions(args: readonly string[]): Options | 'help' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      store: { type: 'string', default: 'embedded' },
      seconds: { type: 'string', default: '60' },
      seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
      clients: { type: 'string', default: '16' },
      workers: { type: 'string', default: '6' },
      'per-host': { type: 'boolean', default: false },
      crawlers: { type: 'string', default: '6' },
      faults: { type: 'string' },
      wait: { type: 'string', default: '0' },
      out: { type: 'string', default: 'history.json' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return 'help';
  const store = STORES.find((name) => name === values.store);
  if (store === undefined)
    throw new RangeError(`--store is ${values.store}; it must be one of ${STORES.join(', ')}`);
  const wait = whole('--wait', values.wait, 0, 1);
  if (wait > 0 && store !== 'cluster') {
    throw new RangeError(`--wait is ${wait}, but ${store} has no replicas: only cluster has`);
  }
  return {
    store,
    seconds: whole('--seconds', values.seconds, 1, 86_400),
    seed: whole('--seed', values.seed, 0, 2 ** 31 - 1),
    clients: whole('--clients', values.clients, 0, 256),
    workers: whole('--workers', values.workers, 0, 256),
    byHost: values['per-host'],
    crawlers: whole('--crawlers', values.crawlers, 0, 256),
    faults: faultsOf(store, values.faults),
    wait,
    out: values.out,
  };
}

/** All kinds of faults that a store's system has. */
export function faultsOf(store: Options['store'], chosen?: string): readonly string[] {
  const known: readonly string[] = FAULTS[store];
  if (chosen === undefined) return known;
  if (chosen === 'none') return [];
  const kinds = chosen.split(',');
  const unknown = kinds.find((kind) => !known.includes(kind));
  if (unknown === undefined) return kinds;
  throw new RangeError(`--faults names ${unknown}: ${store} has ${known.join(', ')}, or none`);
}

/** Parses a whole number from the command line. Throws RangeError if it is invalid or out of range. */
export function whole(name: string, value: string, least: number, most: number): number {
  const number = /^\d+$/.test(value) ? Number(value) : NaN;
  if (number >= least && number <= most) return number;
  throw new RangeError(`${name} is ${value}; it must be a whole number from ${least} to ${most}`);
}
