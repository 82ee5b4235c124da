import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { findScrapyRedis } from '../../scripts/find-scrapy-redis.mjs';
import { BOTH_STORES } from '../e2e/stores.js';
import type { TestApp } from '../support/app.js';
import { PagesServer } from '../support/pages-server.js';
import { startRedis, type RedisServer } from '../support/redis-server.js';
import { runProgram } from '../support/service-process.js';

const run = promisify(execFile);
const found = findScrapyRedis();
const describeFound = found ? describe : describe.skip;
const why = found
  ? ''
  : ' (skipped: no Python imports scrapy-redis; npm run tools:ensure -- scrapy-redis installs it)';

const GUIDE = readFileSync('docs/guides/scrapy-redis.md', 'utf8');

/** The Python blocks in a section of the guide. */
function pythonIn(section: string): string[] {
  const text = GUIDE.split(`\n## ${section}\n`)[1]?.split('\n## ')[0] ?? '';
  return [...text.matchAll(/```python\n(.+?)```/gs)].map(([, code = '']) => code);
}

/** A project's settings before it moves to Unseen. */
const THEIRS = `
SCHEDULER = "scrapy_redis.scheduler.Scheduler"
DUPEFILTER_CLASS = "scrapy_redis.dupefilter.RFPDupeFilter"
SCHEDULER_PERSIST = True
`;
const [dupeFilter = '', connected = '', forget = ''] = pythonIn("Connect scrapy-redis' own filter");
const [replaced = ''] = pythonIn('Replace the duplicate filter only');
const PATHS = Array.from({ length: 20 }, (_, n) => `/page/${n}`);

describeFound.each(BOTH_STORES)(`scrapy-redis${why}, $name store`, ({ start }) => {
  let app: TestApp;
  let redis: RedisServer;
  let site: PagesServer;
  let pages: string[];
  let project: string;
  beforeAll(async () => {
    app = await start({ RESP_PORT: '0' });
    redis = await startRedis();
    site = await PagesServer.start();
    for (const path of ['/robots.txt', ...PATHS])
      site.set(path, { body: 'x', headers: { 'content-type': 'text/html' } });
    pages = PATHS.map((path) => `${site.url}${path}`).sort();
    project = await mkdtemp(join(tmpdir(), 'unseen-scrapy-redis-'));
    await mkdir(join(project, 'myproject'));
    await writeFile(join(project, 'myproject', 'dupefilter.py'), dupeFilter);
    await writeFile(join(project, 'forget.py'), forget);
  });
  afterAll(async () => {
    await site.stop();
    await app.close();
    await redis.stop();
    await rm(project, { recursive: true, force: true });
  });

  /** Crawls pages in a separate process. Returns the fetched ones. */
  const crawl = async (settings: string, wanted: readonly string[], forgotten = ''): Promise<string[]> => {
    const here = settings
      .replace('http://127.0.0.1:3000', app.url)
      .replace('redis://127.0.0.1:6380', `redis://127.0.0.1:${app.respPort}`);
    await writeFile(join(project, 'settings.py'), `${here}REDIS_URL = "${redis.url}"\n`);
    const libraries = [project, resolve('libs', 'scrapy', 'src'), found?.pythonPath];
    const env = {
      ...process.env,
      PYTHONPATH: libraries.join(':'),
      PYTHONDONTWRITEBYTECODE: '1',
      PAGES: JSON.stringify(wanted),
      FORGET: forgotten,
    };
    const program = resolve('test', 'clients', 'scrapy_redis_crawl.py');
    const { stdout, stderr } = await run(found?.python ?? '', [program], { cwd: project, env });
    expect(stderr).toBe('');
    return JSON.parse(stdout) as string[];
  };

  it('keeps its fingerprints when its own filter connects to Unseen, and forgets one page', async () => {
    const old = pages.slice(0, 12);
    expect(await crawl(THEIRS, old)).toEqual(old);
    const unseen = (...args: string[]) => runProgram('cli/unseen.js', args, { UNSEEN_URL: app.url });
    const filter = 'myspider:dupefilter';
    for (const args of [
      ['create', filter, '--type', 'counting', '--capacity', '1000000', '--error-rate', '0.0001'],
      ['import-set', filter, '--redis', redis.url, '--key', filter],
    ]) {
      expect(await unseen(...args)).toMatchObject({ stderr: '', code: 0 });
    }
    expect(await crawl(connected, pages)).toEqual(pages.slice(12));
    expect(await crawl(connected, pages)).toEqual([]);
    expect(await crawl(connected, pages, pages[7])).toEqual([pages[7]]);
    expect(await crawl(connected, pages)).toEqual([]);
  });

  it('fetches no page again with the package’s filter', async () => {
    expect(await crawl(replaced, pages)).toEqual(pages);
    expect(await crawl(replaced, pages)).toEqual([]);
  });
});
