import { describe, expect, it } from '@jest/globals';
import { PYTHON_PROGRAM } from '../examples/worker-programs.js';
import { scrapy, why } from '../scrapy/suites.js';
import { crawl, embeddedSystem, redisSystem, type Crawl, type System } from './crawl.js';
import { figuresOf, judge } from './judge.js';

const PER_HOST = { delaySeconds: 2, maxLeased: 1 };
const TEAM = { typescript: 4, python: 3, scrapy: 3 };
const LONGEST_MS = 1_200_000;

const whyNot = why || PYTHON_PROGRAM.why || (process.platform === 'linux' ? '' : ' (skipped: not on Linux)');
const describeCrawl = scrapy && whyNot === '' ? describe : describe.skip;

/** Runs `act` on a system, and stops the system. */
async function on<T>(start: () => Promise<System>, act: (system: System) => Promise<T>): Promise<T> {
  const system = await start();
  try {
    const result = await act(system);
    expect(system.failures).toEqual([]);
    return result;
  } finally {
    await system.stop();
  }
}

/** Prints a crawl's figures, and expects no violation. */
function check(title: string, { log, pages, kills, left }: Crawl, delayMs?: number): void {
  const { requests, seconds, smallestGapMs, mostAtOnce, repeated } = figuresOf(log);
  const agents = Object.entries(countBy(log, ({ agent }) => agent)).sort();
  console.log(
    [
      `${title}: ${pages.length} pages, ${requests} requests, ${repeated} repeated, ${kills.length} kills`,
      `${seconds.toFixed(1)} s; smallest gap of a host ${smallestGapMs} ms, at most ${mostAtOnce} at once`,
      `requests of each worker: ${agents.map((one) => one.join(' ')).join(', ')}`,
    ].join('; '),
  );
  expect(judge(log, { delayMs, pages, kills })).toEqual([]);
  expect(left).toEqual({ waiting: 0, leased: 0, delayed: 0 });
}

function countBy<T>(all: readonly T[], nameOf: (one: T) => string): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const one of all) counts[nameOf(one)] = (counts[nameOf(one)] ?? 0) + 1;
  return counts;
}

describeCrawl(`ten workers of three kinds crawl 50 hosts${whyNot}`, () => {
  it.each([
    {
      store: 'Redis, whose instances and server are killed',
      start: redisSystem,
      killsAt: [60, 120, 180, 240, 300, 360],
    },
    { store: 'the embedded store, whose service is killed', start: embeddedSystem, killsAt: [100, 200, 300] },
  ])(
    'and pace each host, on $store',
    async ({ store, start, killsAt }) => {
      const crawled = await on(start, (system) => crawl(system, { team: TEAM, perHost: PER_HOST, killsAt }));
      check(store, crawled, PER_HOST.delaySeconds * 1_000);
      expect(crawled.kills).toHaveLength(killsAt.length);
    },
    LONGEST_MS,
  );

  // The Python worker refuses such a set.
  it(
    'and fetch every page once from a set without perHost',
    async () => {
      const team = { ...TEAM, typescript: TEAM.typescript + TEAM.python, python: 0 };
      const crawled = await on(embeddedSystem, (system) => crawl(system, { team, killsAt: [] }));
      check('without perHost', crawled);
    },
    LONGEST_MS,
  );
});
