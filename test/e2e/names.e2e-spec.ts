import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { UnseenClient } from '#client';
import { call, freshName, type TestApp } from '../support/app.js';
import { scrape } from '../support/metrics.js';
import { STORES } from './stores.js';

const FILTER = { type: 'counting', capacity: 1_000, errorRate: 1e-6 };
const url = 'https://example.org/a';

describe.each(STORES)('names with ":" and upper case, $name store', ({ start }) => {
  let app: TestApp;
  let client: UnseenClient;
  beforeAll(async () => {
    app = await start();
    client = new UnseenClient({ url: app.url });
  });
  afterAll(() => app.close());

  /** Two names that differ only in case. */
  const twoNames = (): [string, string] => {
    const name = freshName('Team:News.');
    return [name, name.toLowerCase()];
  };

  it('belong to separate filters, however a path escapes them', async () => {
    const [name, other] = twoNames();
    for (const one of [name, other]) {
      const created = await call(app, 'POST', '/v1/filters', { name: one, ...FILTER });
      expect(created).toMatchObject({ status: 201, body: { name: one } });
    }
    const escaped = name.replace('T', '%54').replace(':', '%3a');
    const key = { 'idempotency-key': freshName('key:') };
    for (const path of [name, escaped, encodeURIComponent(name)]) {
      const added = await call(app, 'POST', `/v1/filters/${path}/items/add`, { items: ['a'] }, key);
      expect(added).toMatchObject({ status: 200, body: { results: [true] } });
      const described = await call(app, 'GET', `/v1/filters/${path}`);
      expect(described).toMatchObject({ status: 200, body: { name, items: 1 } });
    }
    expect(await call(app, 'GET', `/v1/filters/${other}`)).toMatchObject({ body: { name: other, items: 0 } });
    const page = await scrape(app);
    expect(page.value(`unseen_filter_items{kind="filter",filter="${name}"}`)).toBe(1);
    expect(page.value(`unseen_filter_items{kind="filter",filter="${other}"}`)).toBe(0);
    expect(await call(app, 'DELETE', `/v1/filters/${escaped}`)).toMatchObject({ status: 204 });
    expect(await call(app, 'GET', `/v1/filters/${name}`)).toMatchObject({
      ...{ status: 404, body: { detail: expect.stringContaining(name) } },
    });
    expect(await call(app, 'GET', `/v1/filters/${other}`)).toMatchObject({ status: 200 });
  });

  it('go through the client’s calls: URLs, queue, hosts, syncs and histories', async () => {
    const [name, other] = twoNames();
    const sets = [name, other].map((one) => client.visitedSet(one));
    for (const set of sets) await set.create({ capacity: 1_000, perHost: {} });
    const [set, its] = sets as [(typeof sets)[0], (typeof sets)[0]];
    expect(await set.discover(url)).toBe('new');
    expect(await its.check(url)).toBe('unseen');
    const [leased] = await set.lease({ max: 1, leaseSeconds: 60 });
    expect(leased?.url).toBe(url);
    expect(await its.lease({ max: 1, leaseSeconds: 60 })).toEqual([]);
    expect(await set.ack(leased!.id)).toBe('acked');
    const sync = await set.syncs.open();
    expect(await sync.keep([url, `${url}/b`])).toEqual(['kept', 'new']);
    await sync.commit();
    expect(await set.check([url, `${url}/b`])).toEqual(['seen', 'seen']);
    expect(await set.history()).toMatchObject({ watched: true });
    const [explained] = await set.explain([url]);
    expect(explained).toMatchObject({ url });
    expect(await its.describe()).toMatchObject({ name: other, items: 0 });
  });

  it('go through exports, whose file names have no ":", and imports', async () => {
    const [name, other] = twoNames();
    const filter = client.filter(name);
    await filter.create({ ...FILTER, type: 'counting' });
    await filter.add('a');
    const answer = await fetch(`${app.url}/v1/filters/${encodeURIComponent(name)}/export`);
    const file = name.replaceAll(':', '_');
    expect(answer.headers.get('content-disposition')).toBe(`attachment; filename="${file}.unseen"`);
    const body = Buffer.from(await answer.arrayBuffer());
    const imported = await fetch(`${app.url}/v1/filters/import?name=${other}`, {
      ...{ method: 'POST', headers: { 'content-type': 'application/octet-stream' }, body },
    });
    expect(imported).toMatchObject({ status: 201 });
    expect(imported.headers.get('location')).toBe(`/v1/filters/${other}`);
    await client.filter(other).remove('a');
    expect(await filter.has('a')).toBe(true);
    await filter.drop();
    const again = await fetch(`${app.url}/v1/filters/import`, {
      ...{ method: 'POST', headers: { 'content-type': 'application/octet-stream' }, body },
    });
    expect(await again.json()).toMatchObject({ name, items: 1 });
  });
});
