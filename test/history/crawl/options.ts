import { parseArgs } from 'node:util';
import { faultsOf, whole } from '../options.js';

export const USAGE = `npm run crawl -- [options]

  Workers, each a process of its own, lease and acknowledge URLs while they are discovered. All the while one of them is
  killed with SIGKILL, and another starts in its place. In the end the queue is empty.

  --store NAME       embedded or redis (embedded)
  --urls N           distinct ones (1000000)
  --workers N        at once (8)
  --seed N           chooses what workers do, and faults (random)
  --faults KINDS     of the services and their store, as of "npm run history" (none)
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
    throw new RangeError(`--store is ${values.store}: allowed is ${STORES.join(', ')}`);
  return {
    store,
    urls: whole('--urls', values.urls, 1, 1_600_000),
    workers: whole('--workers', values.workers, 1, 64),
    seed: whole('--seed', values.seed, 0, 2 ** 31 - 1),
    faults: faultsOf(store, values.faults),
  };
}
