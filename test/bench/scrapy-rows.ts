import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { onBothStores } from './both-stores.js';
import { assertSetUp, atLeast, type BenchOptions, type Group, type Row } from './row.js';
import { median } from './statistics.js';

const run = promisify(execFile);
const FOLDER = join('libs', 'scrapy');
const ROUNDS = 3;
const LEAST_SPEED = 0.9;
const PAGES = 5_000;
const QUICK_PAGES = 300;
/** Links per page. Half lead to pages without other links, half to pages that are known by then. */
const LINKS = 20;

/** Scrapy crawls a site on loopback with its own filter in memory, and with Unseen. Without Scrapy it has no rows. */
export const scrapyGroup: Group = {
  name: 'scrapy',
  measure: async (options) => {
    // The build doesn't include scripts.
    const path = pathToFileURL(resolve('scripts', 'find-scrapy.mjs')).href;
    const { findScrapy } = (await import(path)) as typeof import('../../scripts/find-scrapy.mjs');
    const found = findScrapy();
    if (found !== undefined)
      return onBothStores(options, (store, port) => rowsOf(found.python, store, port, options));
    console.error('  no Python imports Scrapy: no rows; npm run tools:ensure installs it');
    return [];
  },
};

interface Crawl {
  readonly pages: number;
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly filtered: number;
}

type Settings = Readonly<Record<string, unknown>>;

async function rowsOf(python: string, store: string, port: number, { quick }: BenchOptions): Promise<Row[]> {
  const pages = quick ? QUICK_PAGES : PAGES;
  const site = await startSite(pages);
  const url = `http://127.0.0.1:${port}`;
  const ways: Record<string, Settings> = {
    'own-filter': {},
    queued: { SCHEDULER: 'scrapy_unseen.Scheduler' },
    scheduled: { SCHEDULER: 'scrapy_unseen.Scheduler', UNSEEN_VISITED_WHEN: 'scheduled' },
    crawled: {
      SCHEDULER: 'scrapy_unseen.Scheduler',
      UNSEEN_VISITED_WHEN: 'crawled',
      SPIDER_MIDDLEWARES: { 'scrapy_unseen.VisitCrawled': 50 },
    },
    'filter-of-duplicates': { DUPEFILTER_CLASS: 'scrapy_unseen.DupeFilter' },
  };
  const rounds: Record<string, Crawl[]> = {};
  try {
    for (let round = 0; round < (quick ? 1 : ROUNDS); round++) {
      for (const [way, settings] of Object.entries(ways)) {
        const set = `scrapy-${way}-${round}`;
        const found = await crawl(python, site.url, { UNSEEN_URL: url, UNSEEN_SET: set, ...settings });
        assertSetUp(found.pages === pages, `${way} fetched ${found.pages} of ${pages} pages`);
        (rounds[way] ??= []).push(found);
      }
    }
  } finally {
    await site.close();
  }
  const own = rounds['own-filter'] ?? [];
  return Object.entries(rounds).map(([way, crawls]) => {
    const name = `scrapy-${store}/${way}`;
    const speeds = crawls.map(({ pages: fetched, seconds }) => fetched / seconds);
    const cpu = crawls.map(({ pages: fetched, cpuSeconds }) => (cpuSeconds * 1e6) / fetched);
    const times = crawls.map(({ seconds }, i) => (own[i]?.seconds ?? NaN) / seconds);
    return {
      ...{ name, itemsPerSecond: median(speeds), cpu: { client: median(cpu) } },
      rounds: speeds.map((itemsPerSecond) => ({ itemsPerSecond })),
      ...(way === 'scheduled' && {
        targets: [
          atLeast("pages per second relative to Scrapy's own filter", median(times), LEAST_SPEED, '×'),
        ],
      }),
    };
  });
}

async function crawl(python: string, site: string, settings: Settings): Promise<Crawl> {
  const env = { ...process.env, PYTHONPATH: join(FOLDER, 'src'), PYTHONDONTWRITEBYTECODE: '1' };
  const args = [join(FOLDER, 'bench', 'crawl.py'), `${site}/0`, JSON.stringify(settings)];
  const { stdout } = await run(python, args, { env });
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Crawl;
}

/** A site of pages, `/0` to `/N-1`, that link to each other. */
async function startSite(pages: number): Promise<{ url: string; close(): Promise<void> }> {
  const half = LINKS / 2;
  const server = createServer(({ url = '' }, response) => {
    const page = Number(url.slice(1));
    const links = Array.from({ length: half }, (_, i) => [page * half + i + 1, (page + i * 7) % (page + 1)]);
    const html = links.flat().map((to) => (to < pages ? `<a href="/${to}">${to}</a>` : ''));
    response.setHeader('Content-Type', 'text/html');
    response.end(`<html><body>${html.join('\n')}</body></html>`);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
