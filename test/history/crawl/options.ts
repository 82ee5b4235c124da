import { parseArgs } from 'node:util';
import { faultsOf, whole } from '../options.js';

export const USAGE = `npm run crawl -- [options]

  Workers, each in its own process, lease and acknowledge URLs while they are being discovered. Again and again, one
  worker is killed with SIGKILL, and another one replaces it. At the end, the queue must be empty.

  --store NAME       embedded or redis (embedded)
  --urls N           number of distinct URLs (1000000)
  --workers N        number of concurrent workers (8)
  --seed N           seed that chooses the actions of workers, and faults (random)
  --faults KINDS     faults of the services and their store, as in "npm run history" (none)
`;

const STORES = ['embedded', 'redis'] as const;

export interface CrawlOptions {
  readonly store: (typeof STORES)[number];
  readonly urls: number;
  readonly workers: number;
  readonly seed: number;
  readonly faults: readonly string[];
}

/** Parses the command line. Throws an error whose message names the problem. */
export function readOptions(args: readonly string[]): CrawlOptions | 'help' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      store: { type: 'string', default: 'embedded' },
      urls: { type: 'string', default: '1000000' },
      workers: { type: 'string', default: '8' },
      seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
      faults: { type: 'string', default: 'none' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return 'help';
  const store = STORES.find((name) => name === values.store);
  if (store === undefined)
    throw new RangeError(`--store is ${values.store}; it must be one of ${STORES.join(', ')}`);
  return {
    store,
    urls: whole('--urls', values.urls, 1, 1_600_000),
    workers: whole('--workers', values.workers, 1, 64),
    seed: whole('--seed', values.seed, 0, 2 ** 31 - 1),
    faults: faultsOf(store, values.faults),
  };
}
