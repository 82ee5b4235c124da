import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { NotFoundError, UnseenClient, ValidationError } from '#client';
import { STORES } from '../e2e/stores.js';
import { freshName, type TestApp } from '../support/app.js';

describe.each(STORES)('a set’s hosts, $name store', ({ start }) => {
  let app: TestApp;
  let client: UnseenClient;
  beforeAll(async () => {
    app = await start();
    client = new UnseenClient({ url: app.url });
  });
  afterAll(() => app.close());

  it('are listed, described, set and dropped', async () => {
    const set = client.visitedSet(freshName('set'));
    await set.create({ capacity: 1_000, perHost: {} });
    const names = ['a.example', 'b.example', '[2001:db8::1]'];
    await set.discover(names.flatMap((name) => [`https://${name}/1`, `https://${name}/2`]));
    const found: string[] = [];
    for await (const { host, waiting } of set.hosts.list({ pageSize: 1 })) {
      expect(waiting).toBe(2);
      found.push(host);
    }
    expect(found.sort()).toEqual([...names].sort());
    const blockedUntil = new Date(app.now() + 3_600_000).toISOString();
    expect(await set.hosts.set('A.example', { maxLeased: 1, blockedUntil })).toMatchObject({
      ...{ host: 'a.example', maxLeased: 1, blockedUntil },
    });
    expect(await set.hosts.get('[2001:db8::1]')).toMatchObject({ waiting: 2 });
    const call = { idempotencyKey: freshName('key') };
    expect(await set.hosts.drop('b.example', call)).toBe(2);
    expect(await set.hosts.drop('b.example', call)).toBe(2);
    await expect(set.hosts.get('b.example')).rejects.toThrow(NotFoundError);
  });

  it('are refused without perHost, or for a text that is not a host', async () => {
    const set = client.visitedSet(freshName('set'));
    await set.create({ capacity: 1_000 });
    await expect(set.hosts.get('a.example')).rejects.toThrow(ValidationError);
    await expect(set.hosts.list().next()).rejects.toThrow(ValidationError);
    // In a path, these would lead to the set itself.
    for (const host of ['', '.', '..']) await expect(set.hosts.drop(host)).rejects.toThrow(RangeError);
    expect(await set.describe()).toMatchObject({ name: set.name });
  });
});
