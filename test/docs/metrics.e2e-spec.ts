import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SYNC_OUTCOMES } from '#store';
import { call, startApp, type TestApp } from '../support/app.js';
import { rowsOf } from '../support/markdown.js';
import { MetricsPage, scrape } from '../support/metrics.js';
import { startRedis, type RedisServer } from '../support/redis-server.js';
import { RespClient } from '../support/resp-client.js';

const TABLE = join('docs', 'metrics.md');
const EXAMPLE = join('docs', 'metrics-example.txt');
const SAME = '. All instances show the same value: use max';
/** The metrics of the Node.js client that the page documents. It has many more. */
const DOCUMENTED = /^(?:unseen_|nodejs_eventloop_lag_)/;

interface Family {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  /** Lines with values. */
  readonly samples: string[];
}

/** The metrics of a page, with the lines of each. */
function familiesOf(text: string): Family[] {
  return text
    .split('# HELP ')
    .slice(1)
    .map((part) => {
      const [first = '', second = '', ...samples] = part.trimEnd().split('\n');
      const [name = '', ...help] = first.split(' ');
      return { name, type: second.split(' ').at(-1) as string, help: help.join(' '), samples };
    })
    .filter(({ name }) => DOCUMENTED.test(name));
}

function labelsOf({ samples }: Family): string[] {
  const labels = samples.flatMap((line) => [...line.matchAll(/[{,](\w+)="/g)].map(([, label = '']) => label));
  return [...new Set(labels)].filter((label) => label !== 'le');
}

function acrossInstances({ type, help }: Family): string {
  if (type !== 'gauge') return 'sum';
  return help.endsWith(SAME) ? 'max' : 'each';
}

/** The labels of a line, without a bucket's limit. */
const seriesOf = (line: string): string => /\{(?:le="[^"]*",?)?(.*)\}/.exec(line)?.[1] ?? '';

/** Orders lines by series. Otherwise, the first series would be that of the call that ended first. */
const bySeries = (a: string, b: string): number =>
  seriesOf(a) === seriesOf(b) ? 0 : seriesOf(a) < seriesOf(b) ? -1 : 1;

/** The example page: the documented metrics, and the buckets of only the first series of each histogram. */
function exampleOf(families: readonly Family[]): string {
  const parts = families.map(({ name, type, help, samples: unordered }) => {
    const samples = unordered.toSorted(bySeries);
    const buckets = samples.findIndex((line) => line.includes('_sum'));
    const shown = samples.filter((line, n) => n < buckets || !line.includes('_bucket{'));
    return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...shown].join('\n');
  });
  return `${parts.join('\n\n')}\n`;
}

/** Values that differ from run to run, from moment to moment, or in their last digits between versions of Node.js. */
const VARYING =
  /^(?:nodejs_|unseen_(?:\w*_seconds|(?:resp_)?connections|in_flight|unread|waiting|filter_false_positive))/;

/** The lines of a page, sorted, because scripts may end in any order. Varying values are left out. */
function comparable(text: string): string[] {
  return text
    .split('\n')
    .map((line) => (VARYING.test(line) ? line.slice(0, line.lastIndexOf(' ')) : line))
    .sort();
}

/** A news site's sets, on Redis: a crawl with a queue, a set that ages, and a sync in progress. */
async function story(app: TestApp): Promise<void> {
  const send = async (method: string, path: string, body?: object): Promise<Record<string, unknown>> => {
    const answer = await call(app, method, path, body);
    expect([path, answer.status < 300]).toEqual([path, true]);
    return (answer.body ?? {}) as Record<string, unknown>;
  };
  const sets = '/v1/visited-sets';
  const urls = ['a', 'b'].flatMap((host) => [1, 2, 3].map((n) => `https://${host}.example/${n}`));
  const crawl = { name: 'crawl', capacity: 100_000, maxAttempts: 3, perHost: { delaySeconds: 5 } };
  await send('POST', sets, crawl);
  await send('POST', `${sets}/crawl/urls/discover`, { urls: [...urls, urls[0]] });
  const leased = await send('POST', `${sets}/crawl/queue/lease`, { max: 1, leaseSeconds: 600 });
  const [{ id: lease }] = leased['urls'] as [{ id: string }];
  await send('POST', `${sets}/crawl/queue/ack`, { ids: [lease] });
  await send('POST', sets, { name: 'frontpage', capacity: 10_000, maxAgeSeconds: 86_400 });
  await send('POST', `${sets}/frontpage/urls/visit`, { urls });
  await send('POST', '/v1/filters', { name: 'articles', type: 'counting', capacity: 1_000, errorRate: 0.01 });
  await send('POST', '/v1/filters/articles/items/add', { items: ['a', 'b', 'c'] });
  await send('POST', '/v1/filters/articles/items/check', { items: ['a', 'x'] });
  for (const commits of [true, false]) {
    const { id } = await send('POST', '/v1/filters/articles/syncs', {});
    await send('POST', `/v1/filters/articles/syncs/${String(id)}/items`, { items: ['a', 'd'] });
    if (commits) await send('POST', `/v1/filters/articles/syncs/${String(id)}/commit`, { force: true });
  }
  await call(app, 'GET', '/v1/filters/missing');
  const client = await RespClient.connect(app.respPort);
  expect(await client.call('SADD', 'articles', 'e')).toBe(':1\r\n');
  client.destroy();
}

describe('docs/metrics.md', () => {
  let redis: RedisServer;
  let app: TestApp;
  let families: Family[];
  let page: MetricsPage;
  beforeAll(async () => {
    redis = await startRedis();
    app = await startApp({ REDIS_URL: redis.url, RESP_PORT: '0' });
    await story(app);
    page = await scrape(app);
    families = familiesOf(page.text);
  });
  afterAll(async () => {
    await app.close();
    await redis.stop();
  });

  it('has exactly the service’s metrics, with their types, labels and meanings', () => {
    const rows = families.map((family) => {
      const { name, type, help } = family;
      return [name, type, labelsOf(family).join(', '), acrossInstances(family), help.replace(SAME, '')];
    });
    const written = rowsOf(TABLE, 'metric').map((row) => row.map((cell) => cell.replaceAll('`', '')));
    const byName = ([a = '']: string[], [b = '']: string[]): number => (a < b ? -1 : 1);
    expect(written.sort(byName)).toEqual(rows.sort(byName));
  });

  // To update it: UPDATE_METRICS=1 npm test -- test/docs/metrics
  it('has an example page with the series and values of a small site', () => {
    const example = exampleOf(families);
    if (process.env.UPDATE_METRICS === '1') writeFileSync(EXAMPLE, example);
    expect(comparable(readFileSync(EXAMPLE, 'utf8'))).toEqual(comparable(example));
  });

  it('has every outcome of a sync', () => {
    expect(rowsOf(TABLE, 'outcome').map(([outcome]) => outcome)).toEqual(SYNC_OUTCOMES);
  });

  it('shows each metric with at least one value in the example', () => {
    expect(families.filter(({ samples }) => samples.length === 0).map(({ name }) => name)).toEqual([]);
  });

  it('has metrics whose names and texts follow the rules of Prometheus and of this project', () => {
    for (const { name, type, help } of families.filter((family) => family.name.startsWith('unseen_'))) {
      expect(name).toMatch(/^unseen(?:_[a-z]+)+$/);
      expect([name, name.endsWith('_total')]).toEqual([name, type === 'counter']);
      // Base units only.
      expect(name).not.toMatch(/_(?:ms|milliseconds|minutes|hours|kb|mb|percent)(?:_|$)/);
      if (type === 'histogram') expect(name).toMatch(/_seconds$/);
      expect(help).toMatch(/^[A-Z0-9].{10,}[^.]$/);
      expect(help.length).toBeLessThanOrEqual(200);
    }
  });
});
