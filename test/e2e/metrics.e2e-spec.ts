import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { SYNC_OUTCOMES } from '#store';
import { ERROR_CODES } from '../../src/errors/error-codes.js';
import { call, freshName, startApp, type TestApp } from '../support/app.js';
import { bearer, makeKey } from '../support/credentials.js';
import { KeysService, Store } from '../support/in-process.js';
import { scrape, type MetricsPage } from '../support/metrics.js';
import { startRedis } from '../support/redis-server.js';
import { RespClient } from '../support/resp-client.js';
import { statusOf } from '../support/status-of.js';
import { until } from '../support/until.js';
import { QueuedSet, urls } from './queued-set.js';
import { BOTH_STORES } from './stores.js';

const DAY = 86_400;

describe.each(BOTH_STORES)('metrics, $name store', ({ name: storeName, start }) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await start({ RESP_PORT: '0' });
  });
  afterAll(() => app.close());

  const filter = async (more: object = {}): Promise<string> => {
    const name = freshName();
    const spec = { name, type: 'counting', capacity: 1_000, errorRate: 0.01, ...more };
    expect(await call(app, 'POST', '/v1/filters', spec)).toMatchObject({ status: 201 });
    return name;
  };
  const add = (name: string, items: readonly string[], verb = 'add') =>
    call(app, 'POST', `/v1/filters/${name}/items/${verb}`, { items });
  /** A filter's gauge. */
  const gauge = (page: MetricsPage, name: string, of: string, more = '', kind = 'filter') =>
    page.value(`unseen_${name}{kind="${kind}",filter="${of}"${more}}`);
  const ofSet = (page: MetricsPage, name: string, of: QueuedSet, more = '') =>
    gauge(page, name, of.name, more, 'visited-set');

  it('name the version and the store', async () => {
    const page = await scrape(app);
    expect(page.of('unseen_build_info')).toEqual({ [`{version="0.1.0",store="${storeName}"}`]: 1 });
    expect(page.value('unseen_store_ready')).toBe(1);
    expect(page.value('unseen_store_scrape_success')).toBe(1);
    expect(page.value('unseen_store_scrape_duration_seconds')).toBeGreaterThan(0);
    expect(page.value('unseen_store_scrape_age_seconds')).toBeGreaterThan(0);
  });

  it('begin with a zero for each error and each outcome of a sync, so that increase() sees the first event', async () => {
    const page = await scrape(app);
    expect(Object.keys(page.of('unseen_errors_total'))).toEqual(
      ERROR_CODES.map((code) => `{code="${code}"}`),
    );
    expect(page.value('unseen_errors_total{code="INTERNAL_ERROR"}')).toBe(0);
    expect(Object.keys(page.of('unseen_syncs_ended_total'))).toEqual(
      SYNC_OUTCOMES.map((outcome) => `{outcome="${outcome}"}`),
    );
  });

  it('count requests, items, verdicts by filter, and errors', async () => {
    const name = await filter();
    const before = await scrape(app);
    await add(name, ['a', 'b', 'a']);
    await add(name, ['a', 'x'], 'check');
    await call(app, 'GET', '/v1/filters/none');
    const after = await scrape(app);
    const grown = (series: string): number => (after.value(series) ?? NaN) - (before.value(series) ?? 0);
    for (const [series, count] of [
      ['unseen_http_requests_total{method="POST",route="/v1/filters/:name/items/add",status="200"}', 1],
      ['unseen_http_requests_total{method="GET",route="/v1/filters/:name",status="404"}', 1],
      ['unseen_http_request_duration_seconds_count{method="POST",route="/v1/filters/:name/items/add"}', 1],
      ['unseen_items_total{verb="add",verdict="new"}', 2],
      ['unseen_items_total{verb="add",verdict="duplicate"}', 1],
      ['unseen_errors_total{code="FILTER_NOT_FOUND"}', 1],
      ['unseen_store_call_duration_seconds_count{verb="add"}', 1],
      ['unseen_store_call_duration_seconds_count{verb="check"}', 1],
    ] as const) {
      expect([series, grown(series)]).toEqual([series, count]);
    }
    expect(after.of('unseen_filter_verdicts_total')).toMatchObject({
      [`{kind="filter",filter="${name}",verb="add",verdict="new"}`]: 2,
      [`{kind="filter",filter="${name}",verb="add",verdict="duplicate"}`]: 1,
      [`{kind="filter",filter="${name}",verb="check",verdict="present"}`]: 1,
      [`{kind="filter",filter="${name}",verb="check",verdict="absent"}`]: 1,
    });
    expect(after.value('process_resident_memory_bytes')).toBeGreaterThan(0);
  });

  it('time Redis scripts by verb, whatever the layers of the filter', async () => {
    const name = await filter();
    await add(name, ['a']);
    const scripts = (page: MetricsPage): string[] =>
      page.series('unseen_redis_script_duration_seconds_count');
    const page = await scrape(app);
    if (storeName === 'embedded') {
      expect(scripts(page)).toEqual([]);
      return;
    }
    for (const verb of ['add', 'describe', 'catalogue-set', 'create-cells']) {
      expect(page.value(`unseen_redis_script_duration_seconds_count{verb="${verb}"}`)).toBeGreaterThan(0);
    }
    for (const script of scripts(page)) expect(script).toMatch(/\{verb="[a-z-]+"\}$/);
    await filter({ growth: 'none', errorRate: 0.1 }).then((other) => add(other, ['a']));
    await filter({ type: 'standard', capacity: 5_000_000 }).then((other) => add(other, ['a']));
    expect(scripts(await scrape(app))).toEqual(scripts(page));
  });

  it('show a filter’s items, layers, memory and error rates', async () => {
    const name = await filter({ growth: 'auto', capacity: 100 });
    const page = await scrape(app);
    const { body } = await call(app, 'GET', `/v1/filters/${name}`);
    const view = body as { memoryBytes: number };
    expect(gauge(page, 'filter_items', name)).toBe(0);
    expect(gauge(page, 'filter_capacity_items', name)).toBe(100);
    expect(gauge(page, 'filter_layers', name)).toBe(1);
    expect(gauge(page, 'filter_max_layers', name)).toBeGreaterThan(1);
    expect(gauge(page, 'filter_max_capacity_items', name)).toBeGreaterThan(200);
    expect(gauge(page, 'filter_memory_bytes', name)).toBe(view.memoryBytes);
    expect(gauge(page, 'filter_fill_ratio', name)).toBe(0);
    expect(gauge(page, 'filter_false_positive_ratio', name)).toBe(0);
    expect(gauge(page, 'filter_promised_false_positive_ratio', name)).toBe(0.01);
    expect(gauge(page, 'filter_saturated_counters', name)).toBe(0);
    expect(gauge(page, 'filter_open_syncs', name)).toBe(0);
    const windows = ['caller', 'made'].map((origin) =>
      gauge(page, 'filter_operation_record_window_seconds', name, `,origin="${origin}"`),
    );
    expect(windows).toEqual([86_400, 60]);

    const items = Array.from({ length: 200 }, (_, n) => `item ${n}`);
    await add(name, items);
    const full = await scrape(app);
    const { body: now } = await call(app, 'GET', `/v1/filters/${name}`);
    const grown = now as { items: number; fill: number; estimatedErrorRate: number; memoryBytes: number };
    expect(gauge(full, 'filter_layers', name)).toBeGreaterThan(1);
    expect(gauge(full, 'filter_capacity_items', name)).toBeGreaterThan(100);
    expect(gauge(full, 'filter_items', name)).toBe(grown.items);
    expect(gauge(full, 'filter_fill_ratio', name)).toBe(grown.fill);
    expect(gauge(full, 'filter_false_positive_ratio', name)).toBe(grown.estimatedErrorRate);
    expect(grown.estimatedErrorRate).toBeGreaterThan(0);
    expect(gauge(full, 'filter_memory_bytes', name)).toBe(grown.memoryBytes);
  });

  it('show that a filter exceeds its promised error rate', async () => {
    const name = await filter({ growth: 'none', capacity: 100 });
    for (let n = 0; n < 5; n++)
      await add(
        name,
        Array.from({ length: 100 }, (_, i) => `${n}/${i}`),
      );
    const page = await scrape(app);
    const promised = gauge(page, 'filter_promised_false_positive_ratio', name)!;
    expect(gauge(page, 'filter_false_positive_ratio', name)! / promised).toBeGreaterThan(1);
  });

  it('show how far a sync is, and count how it ended', async () => {
    const name = await filter();
    await add(name, ['a', 'b', 'c']);
    const open = async (): Promise<string> =>
      ((await call(app, 'POST', `/v1/filters/${name}/syncs`, {})).body as { id: string }).id;
    const ended = (page: MetricsPage, outcome: string): number =>
      page.value(`unseen_syncs_ended_total{outcome="${outcome}"}`) ?? 0;
    const before = await scrape(app);
    expect(gauge(before, 'sync_age_seconds', name)).toBeUndefined();

    const first = await open();
    await call(app, 'POST', `/v1/filters/${name}/syncs/${first}/items`, { items: ['a', 'd'] });
    app.advance(60_000);
    const during = await scrape(app);
    expect(gauge(during, 'filter_open_syncs', name)).toBe(1);
    expect(gauge(during, 'sync_listed_items', name)).toBe(2);
    expect(gauge(during, 'sync_unlisted_items', name)).toBe(2);
    expect(gauge(during, 'sync_age_seconds', name)).toBeGreaterThanOrEqual(60);
    const commit = { force: true };
    const committed = await call(app, 'POST', `/v1/filters/${name}/syncs/${first}/commit`, commit);
    expect(committed).toMatchObject({ status: 200, body: { state: 'committed' } });

    await call(app, 'DELETE', `/v1/filters/${name}/syncs/${await open()}`);
    await open();
    // Longer than SYNC_IDLE_MS. The tender then abandons the sync.
    app.advance(2 * 3_600_000);
    await until('the idle sync is counted', async () => {
      app.advance(10_000);
      return ended(await scrape(app), 'idle') === ended(before, 'idle') + 1;
    });
    const after = await scrape(app);
    expect(ended(after, 'committed') - ended(before, 'committed')).toBe(1);
    expect(ended(after, 'caller') - ended(before, 'caller')).toBe(1);
    expect(gauge(after, 'filter_open_syncs', name)).toBe(0);
    expect(gauge(after, 'sync_listed_items', name)).toBeUndefined();
  });

  it('show live, expiring and hidden items of a set that ages', async () => {
    // An epoch takes a day. None ends during the test.
    app.advance(DAY * 1_000 - (app.now() % (DAY * 1_000)));
    const set = await QueuedSet.create(app, { maxAgeSeconds: 13 * DAY, capacity: 1_000, errorRate: 0.5 });
    const path = `/v1/visited-sets/${set.name}/urls`;
    const many = urls('a.example', 1_000);
    await call(app, 'POST', `${path}/visit`, { urls: many });
    await call(app, 'POST', `${path}/visit?ttlSeconds=60`, { urls: urls('b.example', 100) });
    const page = await scrape(app);
    const { body } = await call(app, 'GET', `/v1/visited-sets/${set.name}`);
    const live = ofSet(page, 'filter_live_items', set)!;
    expect(live).toBeGreaterThan(0);
    expect(ofSet(page, 'filter_expiring_items', set)).toBeGreaterThan(0);
    expect(ofSet(page, 'filter_expiring_items', set)).toBeLessThan(live);
    expect(ofSet(page, 'filter_hidden_items', set)).toBe(0);
    expect((body as { items: number }).items).toBeGreaterThan(0);
    // At this error rate, other URLs keep some forgotten URLs' counters alive.
    await call(app, 'POST', `${path}/forget`, { urls: many.slice(0, 500) });
    const { body: after } = await call(app, 'GET', `/v1/visited-sets/${set.name}`);
    const { hidden } = (after as { age: { hidden: number } }).age;
    expect(hidden).toBeGreaterThan(0);
    expect(ofSet(await scrape(app), 'filter_hidden_items', set)).toBe(hidden);
    const plain = await QueuedSet.create(app);
    expect(ofSet(await scrape(app), 'filter_hidden_items', plain)).toBeUndefined();
  });

  it('show a queue’s URLs by state, and its oldest one', async () => {
    const { set } = await QueuedSet.mixed(app);
    app.advance(60_000);
    const page = await scrape(app);
    const states = Object.fromEntries(
      ['waiting', 'leased', 'delayed', 'scheduled', 'dead', 'forgotten'].map((state) => [
        state,
        ofSet(page, 'queue_urls', set, `,state="${state}"`),
      ]),
    );
    expect(states).toEqual({ waiting: 1, leased: 1, delayed: 1, scheduled: 0, dead: 1, forgotten: 0 });
    expect(ofSet(page, 'queue_oldest_seconds', set)).toBeGreaterThanOrEqual(60);
    expect(ofSet(page, 'queue_hosts', set)).toBeUndefined();
    const empty = await QueuedSet.create(app);
    expect(ofSet(await scrape(app), 'queue_oldest_seconds', empty)).toBe(0);
  });

  it('show which hosts are due and which are blocked', async () => {
    const set = await QueuedSet.create(app, { perHost: { delaySeconds: 600 } });
    const hosts = async (): Promise<(number | undefined)[]> => {
      const page = await scrape(app);
      return ['hosts', 'due_hosts', 'blocked_hosts'].map((name) => ofSet(page, `queue_${name}`, set));
    };
    expect(await hosts()).toEqual([0, 0, 0]);
    await set.discover(...['a', 'b', 'c'].flatMap((host) => urls(`${host}.example`, 3)));
    expect(await hosts()).toEqual([3, 3, 0]);
    expect(await set.lease(2)).toHaveLength(2);
    expect(await hosts()).toEqual([3, 1, 2]);
    app.advance(600_000);
    expect(await hosts()).toEqual([3, 3, 0]);
  });

  it('show connections and commands of the Redis protocol', async () => {
    const before = await scrape(app);
    const client = await RespClient.connect(app.respPort);
    try {
      const name = await filter({ type: 'standard' });
      await client.pipeline(['a', 'b', 'a'].map((item) => ['BF.ADD', name, item]));
      await client.call('NONSENSE');
      const page = await scrape(app);
      const grown = (series: string): number => (page.value(series) ?? 0) - (before.value(series) ?? 0);
      expect(page.value('unseen_resp_connections')).toBe(1);
      expect(page.value('unseen_connections')).toBeGreaterThan(1);
      expect(page.value('unseen_max_connections')).toBe(2_000);
      expect(grown('unseen_resp_commands_total{command="BF.ADD",outcome="ok"}')).toBe(3);
      // The three commands ran as one batch, or as several if they arrived in pieces.
      const batches = grown('unseen_resp_batch_duration_seconds_count{command="BF.ADD"}');
      expect(batches).toBeGreaterThanOrEqual(1);
      expect(batches).toBeLessThanOrEqual(3);
      expect(grown('unseen_resp_batch_duration_seconds_count{command="unknown"}')).toBe(1);
      expect(
        page.value(`unseen_filter_verdicts_total{kind="filter",filter="${name}",verb="add",verdict="new"}`),
      ).toBe(2);
    } finally {
      client.destroy();
    }
    await until(
      'the connection is gone',
      async () => (await scrape(app)).value('unseen_resp_connections') === 0,
    );
  });

  it('lose a filter’s series once it is deleted', async () => {
    const name = await filter();
    await add(name, ['a']);
    expect((await scrape(app)).text).toContain(`"${name}"`);
    await call(app, 'DELETE', `/v1/filters/${name}`);
    await scrape(app);
    expect((await scrape(app)).text).not.toContain(`"${name}"`);
  });
});

it('metrics of several instances on one Redis count each end of a sync once', async () => {
  const redis = await startRedis();
  const apps = [await startApp({ REDIS_URL: redis.url }), await startApp({ REDIS_URL: redis.url })] as const;
  try {
    const name = freshName();
    const path = `/v1/filters/${name}`;
    await call(apps[0], 'POST', '/v1/filters', { name, type: 'counting', capacity: 100, errorRate: 0.01 });
    for (let n = 0; n < 5; n++) {
      const { id } = (await call(apps[0], 'POST', `${path}/syncs`, {})).body as { id: string };
      // Both instances carry out the same commit.
      const answers = await Promise.all(
        apps.map((app) => call(app, 'POST', `${path}/syncs/${id}/commit`, { force: true })),
      );
      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    }
    const series = 'unseen_syncs_ended_total{outcome="committed"}';
    const pages = [await scrape(apps[0]), await scrape(apps[1])];
    expect(pages.reduce((sum, page) => sum + (page.value(series) ?? 0), 0)).toBe(5);
    const items = `unseen_filter_items{kind="filter",filter="${name}"}`;
    expect(pages.map((page) => page.value(items))).toEqual([0, 0]);
  } finally {
    for (const app of apps) await app.close();
    await redis.stop();
  }
});

describe('metrics after Redis has lost all data', () => {
  const lost = (page: MetricsPage) => page.value('unseen_store_data_lost');
  const create = async (app: TestApp, headers: Record<string, string> = {}): Promise<void> => {
    const spec = { name: 'news', type: 'counting', capacity: 10, errorRate: 0.1 };
    expect((await call(app, 'POST', '/v1/filters', spec, headers)).status).toBe(201);
  };
  const warnings = async (app: TestApp): Promise<string[]> =>
    ((await call(app, 'GET', '/readyz')).body as { warnings: string[] }).warnings;

  it('say so on each instance that knew them, by FLUSHALL and by a restart, even if a caller creates its sets again', async () => {
    const redis = await startRedis();
    const env = { REDIS_URL: redis.url };
    const apps = [await startApp(env), await startApp(env)];
    const ready = (app: TestApp) => async () => (await scrape(app)).value('unseen_store_ready') === 1;
    try {
      await create(apps[0]!);
      for (const app of apps) expect(lost(await scrape(app))).toBe(0);
      const client = new Redis(redis.port, '127.0.0.1');
      await client.flushall();
      client.disconnect();
      await create(apps[0]!);
      for (const app of apps) expect(lost(await scrape(app))).toBe(1);
      // An instance that starts later knows nothing of it, until it happens again.
      apps.push(await startApp(env));
      expect(lost(await scrape(apps[2]!))).toBe(0);
      await redis.restart();
      for (const app of apps) {
        await until('the instance is connected', ready(app));
        expect(lost(await scrape(app))).toBe(1);
      }
    } finally {
      for (const app of apps) await app.close();
      await redis.stop();
    }
  });

  it('are refused if the lost data includes the key, and /readyz says why', async () => {
    const redis = await startRedis();
    const app = await startApp({ REDIS_URL: redis.url, AUTH: 'keys' });
    try {
      const { headers } = await makeKey(app, 'admin');
      await create(app, headers);
      expect(lost(await scrape(app, headers))).toBe(0);
      const client = new Redis(redis.port, '127.0.0.1');
      await client.flushall();
      client.disconnect();
      // The cached keys are old by then.
      app.advance(10_000);
      expect(await statusOf(`${app.url}/metrics`, { headers })).toBe(401);
      expect(await warnings(app)).toContainEqual(expect.stringMatching(/^Redis has lost all filters/));
    } finally {
      await app.close();
      await redis.stop();
    }
  });

  it('say that the embedded store has not', async () => {
    const app = await startApp();
    try {
      expect(lost(await scrape(app))).toBe(0);
    } finally {
      await app.close();
    }
  });
});

it('metrics show how long the event loop was blocked', async () => {
  const app = await startApp();
  try {
    await until('the delay is shown', async () => {
      // Node measures no delay right after a scrape, so let some turns pass.
      await sleep(50);
      // This process runs the service too.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500);
      return (await scrape(app)).value('nodejs_eventloop_lag_max_seconds')! >= 0.4;
    });
  } finally {
    await app.close();
  }
});

describe('metrics of many filters', () => {
  it('have a fixed number of series, for any calls, and at most 100 per gauge of filters', async () => {
    const app = await startApp({ AUTH: 'keys' });
    try {
      const { headers } = await makeKey(app, 'admin');
      const count = async (begin: string): Promise<number> =>
        (await scrape(app, headers)).series(begin).length;
      const tenant = async (prefix: string): Promise<void> => {
        const key = await makeKey(app, 'write', { prefix });
        for (const [method, path] of [
          ['GET', `/v1/filters/${prefix}a`],
          ['DELETE', `/v1/filters/${prefix}a`],
          ['GET', `/nowhere/${prefix}`],
          ['PUT', `/v1/filters/${prefix}a/items/add`],
          ['POST', `/v1/filters/${prefix}a/items/add`],
        ] as const) {
          await call(app, method, path, method === 'POST' ? { items: ['a'] } : undefined, key.headers);
        }
      };
      await tenant('t0-');
      await count('unseen_');
      const before = await count('unseen_');
      for (let i = 1; i <= 20; i++) await tenant(`t${i}-`);
      expect(await count('unseen_')).toBe(before);
      for (let i = 0; i <= 100; i++) {
        const filter = { name: freshName(), type: 'counting', capacity: 10, errorRate: 0.1 };
        expect((await call(app, 'POST', '/v1/filters', filter, headers)).status).toBe(201);
      }
      expect(await count('unseen_filter_items{')).toBe(100);
    } finally {
      await app.close();
    }
  });

  it('leave others their series, and sum up the verdicts of a tenant’s filters without series', async () => {
    const app = await startApp({ AUTH: 'keys' });
    try {
      const { headers } = await makeKey(app, 'admin');
      const tenant = await makeKey(app, 'write', { prefix: 'tenant-' });
      const create = (name: string) =>
        call(app, 'POST', '/v1/filters', { name, type: 'counting', capacity: 10, errorRate: 0.1 }, headers);
      const add = async (name: string, items: string[], as: Record<string, string>): Promise<void> => {
        const { status } = await call(app, 'POST', `/v1/filters/${name}/items/add`, { items }, as);
        expect(status).toBe(200);
      };
      await create('ours');
      await add('ours', ['a'], headers);
      for (let n = 0; n < 40; n++) {
        await create(`tenant-${n}`);
        await add(`tenant-${n}`, ['a', 'b', 'c'], tenant.headers);
      }
      const page = await scrape(app, headers);
      const verdicts = page.of('unseen_filter_verdicts_total');
      const verdict = '{kind="filter",filter="ours",verb="add",verdict="new"}';
      expect(verdicts[verdict]).toBe(1);
      const own = Object.keys(verdicts).filter((labels) => /"tenant-.*"new"/.test(labels));
      expect(own).toHaveLength(20);
      const sum = (verdict: string): number =>
        Object.entries(verdicts).reduce((all, [of, n]) => all + (of.includes(`"${verdict}"`) ? n : 0), 0);
      expect(verdicts['{kind="filter",filter="(others)",verb="add",verdict="new"}']).toBeGreaterThan(0);
      for (const one of ['new', 'duplicate']) {
        expect(sum(one)).toBe(page.value(`unseen_items_total{verb="add",verdict="${one}"}`));
      }
      expect(sum('new') + sum('duplicate')).toBe(1 + 40 * 3);
    } finally {
      await app.close();
    }
  });
});

describe('metrics while the store is unavailable', () => {
  const expectAway = (page: MetricsPage, name: string): void => {
    expect(page.value('unseen_store_ready')).toBe(0);
    expect(page.value('unseen_store_scrape_success')).toBe(0);
    expect(page.value('unseen_store_scrape_age_seconds')).toBeUndefined();
    // Gauges of filters are missing rather than old.
    expect(page.series('unseen_filter_items')).toEqual([]);
    // What the process counts itself is still there.
    expect(
      page.value(`unseen_filter_verdicts_total{kind="filter",filter="${name}",verb="add",verdict="new"}`),
    ).toBe(1);
  };
  const used = async (app: TestApp): Promise<string> => {
    const name = freshName();
    await call(app, 'POST', '/v1/filters', { name, type: 'counting', capacity: 10, errorRate: 0.1 });
    await call(app, 'POST', `/v1/filters/${name}/items/add`, { items: ['a'] });
    expect((await scrape(app)).value(`unseen_filter_items{kind="filter",filter="${name}"}`)).toBe(1);
    return name;
  };

  it('say so, and come without the store’s figures: embedded, closed', async () => {
    const app = await startApp();
    try {
      const name = await used(app);
      await app.app.get<Store>(Store).close();
      expectAway(await scrape(app), name);
    } finally {
      await app.close();
    }
  });

  it('come with a key that Redis confirmed within the last hour, and only with such a key', async () => {
    const redis = await startRedis();
    const app = await startApp({ REDIS_URL: redis.url, REDIS_TIMEOUT_MS: '1000', AUTH: 'keys' });
    const get = async (path: string, headers: Record<string, string>): Promise<number> =>
      statusOf(`${app.url}${path}`, { headers });
    try {
      const [ops, revoked] = [await makeKey(app, 'read'), await makeKey(app, 'read')];
      await app.app.get(KeysService).revoke(revoked.id, { id: 'test', name: 'test' });
      await until('the key is accepted', async () => (await get('/metrics', ops.headers)) === 200);
      await redis.stop();
      // The cached keys are old by then.
      app.advance(10_000);
      expect((await scrape(app, ops.headers)).value('unseen_store_ready')).toBe(0);
      expect(await get('/v1/filters', ops.headers)).toBe(503);
      expect(await get('/metrics', revoked.headers)).toBe(401);
      expect(
        await get('/metrics', bearer(`${ops.key.slice(0, -1)}${ops.key.endsWith('A') ? 'Q' : 'A'}`)),
      ).toBe(401);
      expect(await get('/metrics', {})).toBe(401);
      app.advance(3_600_000);
      expect(await get('/metrics', ops.headers)).toBe(503);
    } finally {
      await app.close();
      await redis.stop();
    }
  });

  it('say so, and come without the store’s figures: Redis, paused and then gone', async () => {
    const redis = await startRedis();
    const app = await startApp({ REDIS_URL: redis.url, REDIS_TIMEOUT_MS: '1000', AUTH: 'none' });
    try {
      let name = '';
      // On a slow machine, a call may exceed the limit.
      await until('a filter is used', async () => {
        try {
          name = await used(app);
          return true;
        } catch {
          return false;
        }
      });
      process.kill(redis.pid, 'SIGSTOP');
      expectAway(await scrape(app), name);
      process.kill(redis.pid, 'SIGCONT');
      await until(
        'the figures are back',
        async () => (await scrape(app)).value('unseen_store_scrape_success') === 1,
      );
      await redis.stop();
      expectAway(await scrape(app), name);
    } finally {
      await app.close();
      await redis.stop();
    }
  });
});
