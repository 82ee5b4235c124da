import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { call, type Answer, type TestApp } from '../support/app.js';
import { bearer, makeKey, type TestKey } from '../support/credentials.js';
import { STORES } from './stores.js';

const FILTER = { type: 'counting', capacity: 1_000, errorRate: 0.01 };
const VISITED = { capacity: 1_000, errorRate: 0.01, growth: 'none' };

interface ListedKey {
  readonly id: string;
  readonly prefix?: string;
  readonly maxFilters?: number;
  readonly maxBytes?: number;
  readonly usage?: { readonly filters: number; readonly bytes: number };
}

describe.each(STORES)('quotas, $name store', ({ start }) => {
  let app: TestApp;
  let ops: TestKey;
  let bytes: number;
  beforeAll(async () => {
    app = await start({ AUTH: 'keys' });
    ops = await makeKey(app, 'admin');
    const { body } = await as(ops, 'POST', '/v1/plan', FILTER);
    bytes = (body as { memoryBytes: number }).memoryBytes;
  });
  afterAll(() => app.close());

  const as = (key: TestKey, method: string, path: string, body?: unknown, headers = {}): Promise<Answer> =>
    call(app, method, path, body, { ...key.headers, ...headers });
  /** Creates a key over REST, as an administrator would. */
  const limited = async (prefix: string, limits: object): Promise<TestKey> => {
    const body = { name: prefix, scopes: ['admin'], prefix, ...limits };
    const made = await as(ops, 'POST', '/v1/keys', body);
    expect(made).toMatchObject({ status: 201, body: limits });
    const { id, key } = made.body as { id: string; key: string };
    return { id, key, headers: bearer(key) };
  };
  const listed = async ({ id }: TestKey): Promise<ListedKey | undefined> => {
    const { body } = await as(ops, 'GET', '/v1/keys');
    return (body as { keys: ListedKey[] }).keys.find((key) => key.id === id);
  };
  const refusal = (detail: string) => ({
    status: 403,
    body: { code: 'QUOTA_EXCEEDED', title: "The request exceeds this prefix's quota", detail },
  });

  it('limit filters and visited sets together, whichever key created them, and are shown with the usage', async () => {
    const key = await limited('acme-', { maxFilters: 3 });
    expect(await as(ops, 'POST', '/v1/filters', { name: 'acme-ops', ...FILTER })).toMatchObject({
      status: 201,
    });
    expect(await as(ops, 'POST', '/v1/filters', { name: 'other', ...FILTER })).toMatchObject({ status: 201 });
    expect(await as(key, 'POST', '/v1/filters', { name: 'acme-a', ...FILTER })).toMatchObject({
      status: 201,
    });
    expect(await as(key, 'POST', '/v1/visited-sets', { name: 'acme-v', ...VISITED })).toMatchObject({
      status: 201,
    });
    const detail =
      'prefix "acme-" has 3 of the 3 filters and visited sets that its quota allows; nothing was created. Delete filters under this prefix, or use a key with a larger quota';
    expect(await as(key, 'POST', '/v1/filters', { name: 'acme-b', ...FILTER })).toMatchObject(
      refusal(detail),
    );
    expect(await as(key, 'POST', '/v1/visited-sets', { name: 'acme-w', ...VISITED })).toMatchObject(
      refusal(detail),
    );
    expect(await listed(key)).toMatchObject({
      prefix: 'acme-',
      maxFilters: 3,
      usage: { filters: 3, bytes: 3 * bytes },
    });
    // Requests that need no space still work, and deletions free space.
    expect(await as(key, 'POST', '/v1/filters', { name: 'acme-a', ...FILTER })).toMatchObject({
      status: 200,
    });
    expect(await as(key, 'POST', '/v1/filters/acme-a/clear')).toMatchObject({ status: 200 });
    expect(await as(key, 'DELETE', '/v1/visited-sets/acme-v')).toMatchObject({ status: 204 });
    expect(await as(key, 'POST', '/v1/filters', { name: 'acme-b', ...FILTER })).toMatchObject({
      status: 201,
    });
    // The quota doesn't bind other callers.
    expect(await as(ops, 'POST', '/v1/filters', { name: 'acme-c', ...FILTER })).toMatchObject({
      status: 201,
    });
    expect(await listed(key)).toMatchObject({ usage: { filters: 4, bytes: 4 * bytes } });
  });

  it('limit bytes, counted as memoryBytes', async () => {
    const key = await limited('bytes-', { maxBytes: 2 * bytes });
    for (const name of ['bytes-a', 'bytes-b']) {
      const made = await as(key, 'POST', '/v1/filters', { name, ...FILTER });
      expect(made).toMatchObject({ status: 201, body: { memoryBytes: bytes } });
    }
    const detail = `this needs ${bytes} more bytes; prefix "bytes-" uses ${2 * bytes} of the ${2 * bytes} bytes that its quota allows; nothing was changed. Delete filters under this prefix, or use a key with a larger quota`;
    expect(await as(key, 'POST', '/v1/filters', { name: 'bytes-c', ...FILTER })).toMatchObject(
      refusal(detail),
    );
    expect(await as(key, 'GET', '/v1/filters/bytes-c')).toMatchObject({ status: 404 });
  });

  it('hold under many parallel requests', async () => {
    const key = await limited('many-', { maxFilters: 2 });
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, i) => as(key, 'POST', '/v1/filters', { name: `many-${i}`, ...FILTER })),
    );
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([...Array<number>(2).fill(201), ...Array<number>(10).fill(403)]);
    expect(await listed(key)).toMatchObject({ usage: { filters: 2 } });
  });

  it('don’t change the answers to repeated requests', async () => {
    const key = await limited('again-', { maxFilters: 1 });
    const create = (name: string, id: string): Promise<Answer> =>
      as(key, 'POST', '/v1/filters', { name, ...FILTER }, { 'idempotency-key': id });
    const first = await create('again-a', 'k1');
    expect(first.status).toBe(201);
    const refused = await create('again-b', 'k2');
    expect(refused.status).toBe(403);
    expect(await create('again-a', 'k1')).toMatchObject({ status: 201, body: first.body });
    // A refusal isn't recorded as a result. Once space is free, the same request succeeds.
    await as(key, 'DELETE', '/v1/filters/again-a');
    expect(await create('again-b', 'k2')).toMatchObject({ status: 201 });
  });

  it.each(['filters', 'visited-sets'])('limit imports: %s', async (kind) => {
    const prefix = `Import.${kind}:`;
    const key = await limited(prefix, { maxFilters: 2, maxBytes: 2 * bytes });
    const body = kind === 'filters' ? FILTER : VISITED;
    await as(key, 'POST', `/v1/${kind}`, { name: `${prefix}a`, ...body });
    const file = await (
      await fetch(`${app.url}/v1/${kind}/${prefix}a/export`, { headers: key.headers })
    ).arrayBuffer();
    const importAs = async (name: string): Promise<{ status: number; code: unknown }> => {
      const headers = { ...key.headers, 'content-type': 'application/octet-stream' };
      const answer = await fetch(`${app.url}/v1/${kind}/import?name=${prefix}${name}`, {
        method: 'POST',
        headers,
        body: file,
      });
      return { status: answer.status, code: ((await answer.json()) as { code?: unknown }).code };
    };
    expect(await importAs('b')).toMatchObject({ status: 201 });
    expect(await importAs('c')).toEqual({ status: 403, code: 'QUOTA_EXCEEDED' });
    expect(await listed(key)).toMatchObject({ usage: { filters: 2, bytes: 2 * bytes } });
  });

  it('limit the growth of a visited set, and reads still work', async () => {
    const sizing = { capacity: 100, errorRate: 0.01 };
    const plan = await as(ops, 'POST', '/v1/plan', { type: 'counting', growth: 'auto', ...sizing });
    const [first = 0, second = 0] = (
      plan.body as { plannedLayers: { memoryBytes: number }[] }
    ).plannedLayers.map(({ memoryBytes }) => memoryBytes);
    const key = await limited('grows-', { maxBytes: first + second });
    expect(await as(key, 'POST', '/v1/visited-sets', { name: 'grows-a', ...sizing })).toMatchObject({
      ...{ status: 201, body: { growth: 'auto', memoryBytes: first } },
    });
    const urls = (count: number) => Array.from({ length: count }, (_, n) => `https://example.org/${n}`);
    const visit = (by: TestKey, count: number) =>
      as(by, 'POST', '/v1/visited-sets/grows-a/urls/visit', { urls: urls(count) });
    expect(await visit(key, 300)).toMatchObject({ status: 200 });
    expect(await listed(key)).toMatchObject({ usage: { filters: 1, bytes: first + second } });
    expect(await visit(key, 900)).toMatchObject({ status: 403, body: { code: 'QUOTA_EXCEEDED' } });
    expect(await visit(key, 300)).toMatchObject({ status: 200, body: { counts: { seen: 300 } } });
    expect(await listed(key)).toMatchObject({ usage: { filters: 1, bytes: first + second } });
    // The quota belongs to the caller who adds, not to the set.
    expect(await visit(ops, 900)).toMatchObject({ status: 200 });
  });

  it('apply to each key: without one, usage is unlimited, and a longer prefix doesn’t raise a shorter one’s quota', async () => {
    const tight = await limited('org-', { maxFilters: 1 });
    const free = await limited('org-team-', {});
    for (const name of ['org-team-a', 'org-team-b']) {
      expect(await as(free, 'POST', '/v1/filters', { name, ...FILTER })).toMatchObject({ status: 201 });
    }
    expect(await as(tight, 'POST', '/v1/filters', { name: 'org-a', ...FILTER })).toMatchObject({
      status: 403,
    });
    expect(await listed(tight)).toMatchObject({ maxFilters: 1, usage: { filters: 2 } });
    const { maxFilters, maxBytes, usage } = (await listed(free))!;
    expect([maxFilters, maxBytes, usage]).toEqual([undefined, undefined, { filters: 2, bytes: 2 * bytes }]);
    expect(await listed(ops)).not.toHaveProperty('usage');
  });

  it.each([
    [
      { maxFilters: 1 },
      '#/maxFilters',
      'maxFilters needs a prefix: send a prefix, or leave out maxFilters 1',
    ],
    [{ maxBytes: 5 }, '#/maxBytes', 'maxBytes needs a prefix: send a prefix, or leave out maxBytes 5'],
    ...['maxFilters', 'maxBytes'].flatMap((limit) =>
      [0, -1, 1.5, '5', null, 2 ** 53].map(
        (value) =>
          [
            { prefix: 'p-', [limit]: value },
            `#/${limit}`,
            `${limit} must be a whole number from 1 to 9007199254740991, not ${JSON.stringify(value)}`,
          ] as const,
      ),
    ),
  ])('that are invalid are refused: %j', async (limits, pointer, detail) => {
    expect(await as(ops, 'POST', '/v1/keys', { name: 'x', scopes: ['admin'], ...limits })).toMatchObject({
      status: 400,
      body: { code: 'VALIDATION_FAILED', errors: [{ pointer, detail }] },
    });
  });
});
