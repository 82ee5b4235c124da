import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { call, freshName, type Answer, type TestApp } from '../support/app.js';
import { STORES } from './stores.js';

const LONGEST = `http://a.example/${'x'.repeat(8_192 - 17)}`;
/** Too long by one byte, by multi-byte characters, and for any line. */
const TOO_LONG = [`${LONGEST}x`, `http://a.example/${'é'.repeat(4_090)}`, `${LONGEST}${'x'.repeat(200_000)}`];
const BATCH = ['http://a.example/1', TOO_LONG[0]!, LONGEST, TOO_LONG[1]!, TOO_LONG[2]!, 'http://a.example/2'];
const ANSWER = {
  results: ['new', 'invalid', 'new', 'invalid', 'invalid', 'new'],
  invalid: [1, 3, 4].map((index) => ({ index, reason: 'too long' })),
};
const COUNTS = { new: 3, seen: 0, invalid: 3 };

const STREAMS = [
  ['text/plain', (batch: readonly string[]) => `${batch.join('\n')}\n`],
  ['application/x-ndjson', (batch: readonly string[]) => batch.map((one) => JSON.stringify(one)).join('\n')],
] as const;

interface Block {
  readonly from: number;
  readonly results: readonly unknown[];
  readonly invalid?: readonly { readonly index: number; readonly reason: string }[];
}

/** Merges consecutive blocks into one. */
function joined(lines: readonly Partial<Block>[]): unknown[] {
  const all: Partial<Block>[] = [];
  for (const line of lines) {
    const before = all.at(-1);
    if (before?.results && line.results && line.from === (before.from as number) + before.results.length) {
      const index = before.results.length;
      all[all.length - 1] = {
        ...before,
        results: [...before.results, ...line.results],
        ...((before.invalid ?? line.invalid) && {
          invalid: [
            ...(before.invalid ?? []),
            ...(line.invalid ?? []).map((one) => ({ ...one, index: one.index + index })),
          ],
        }),
      };
    } else all.push(line);
  }
  return all;
}

describe.each(STORES)('a URL that is too long, $name store', ({ start }) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await start();
  });
  afterAll(() => app.close());

  async function createSet(): Promise<string> {
    const name = freshName('v');
    await call(app, 'POST', '/v1/visited-sets', { name, capacity: 1_000 });
    return `/v1/visited-sets/${name}`;
  }

  /** The lines in a stream's answer. Blocks are merged, because their boundaries depend on timing. */
  async function stream(path: string, type: string, body: string, key?: string): Promise<unknown[]> {
    const headers = { 'content-type': type, ...(key !== undefined && { 'idempotency-key': key }) };
    const response = await fetch(app.url + path, { method: 'POST', headers, body });
    const lines = (await response.text()).trimEnd().split('\n');
    return joined(lines.map((line) => JSON.parse(line) as Partial<Block>));
  }

  it('is one invalid entry in a JSON batch, and the others get their answers', async () => {
    const set = await createSet();
    const discover = (): Promise<Answer> => call(app, 'POST', `${set}/urls/discover`, { urls: BATCH });
    expect(await discover()).toMatchObject({ status: 200, body: { ...ANSWER, counts: COUNTS } });
    expect(await call(app, 'POST', `${set}/queue/lease`, { max: 10, leaseSeconds: 60 })).toMatchObject({
      body: { urls: [{ url: BATCH[0] }, { url: BATCH[2] }, { url: BATCH[5] }] },
    });
    for (const verb of ['visit', 'check', 'forget']) {
      const { status, body } = await call(app, 'POST', `${set}/urls/${verb}`, { urls: BATCH });
      expect({ status, body }).toMatchObject({
        status: 200,
        body: { invalid: ANSWER.invalid, counts: { invalid: 3 } },
      });
    }
  });

  it.each(STREAMS)('is one invalid entry in a stream of %s, and keeps its place', async (type, write) => {
    const set = await createSet();
    expect(await stream(`${set}/urls/discover`, type, write(BATCH))).toEqual([
      { from: 1, ...ANSWER },
      { done: true, counts: COUNTS },
    ]);
    const many = [...Array<string>(998).fill('http://a.example/1'), TOO_LONG[2]!, ...BATCH];
    expect(await stream(`${set}/urls/check`, type, write(many))).toEqual([
      {
        from: 1,
        results: [
          ...[...Array<string>(998).fill('seen'), 'invalid'],
          ...['seen', 'invalid', 'seen', 'invalid', 'invalid', 'seen'],
        ],
        invalid: [998, 1_000, 1_002, 1_003].map((index) => ({ index, reason: 'too long' })),
      },
      { done: true, counts: { seen: 1_001, unseen: 0, invalid: 4 } },
    ]);
  });

  it.each(STREAMS)('is part of the fingerprint for a stream of %s', async (type, write) => {
    const path = `${await createSet()}/urls/discover`;
    const first = await stream(path, type, write(BATCH), 'a-key');
    expect(await stream(path, type, write(BATCH), 'a-key')).toEqual(first);
    const other = BATCH.map((url) => (url === TOO_LONG[2] ? `${url.slice(0, -1)}y` : url));
    expect(await stream(path, type, write(other), 'a-key')).toMatchObject([
      { code: 'IDEMPOTENCY_KEY_REUSED' },
    ]);
  });

  it('is refused if sent as an item', async () => {
    const name = freshName();
    await call(app, 'POST', '/v1/filters', { name, type: 'counting', capacity: 1_000, errorRate: 0.01 });
    const path = `/v1/filters/${name}/items/add`;
    expect(await call(app, 'POST', path, { items: BATCH })).toMatchObject({ status: 400 });
    for (const [type, write] of STREAMS) {
      const lines = await stream(path, type, write(BATCH));
      expect(lines).toMatchObject([
        { from: 1, results: [type === 'text/plain'] },
        { error: { code: 'VALIDATION_FAILED' }, line: 2 },
      ]);
    }
  });
});
