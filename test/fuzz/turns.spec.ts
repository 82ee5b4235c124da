import type { IncomingMessage } from 'node:http';
import { PassThrough, Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { BLOCK_KEYS } from '../../libs/bloom/src/kernel.js';
import { BlocksAhead } from '../../src/batches/blocks-ahead.js';
import { lineBlocks, type ItemLimits, type LineBlock } from '../../src/batches/line-blocks.js';
import { LineInput } from '../../src/batches/line-input.js';
import { readConfig } from '../../src/config/config.js';
import { PORTION, turn } from '../../src/event-loop/turn.js';
import { Membership } from '../../src/filters/membership.js';
import { parseJson, readWhole } from '../../src/http/json-body.js';
import { UrlIdentity } from '../../src/visited-sets/url-identity.js';
import type { Filter, Store } from '#store';
import { call, freshName, startApp } from '../support/app.js';
import { turn as turnOfApps } from '../support/in-process.js';

const CONFIG = readConfig({});
const NEXT = 'next turn';

/** The events, in order. The budget is always spent when it is checked, so each check waits for the next turn. */
let events: string[] = [];
beforeEach(() => {
  for (const budget of [turn, turnOfApps]) {
    jest.spyOn(budget, 'isSpent').mockReturnValue(true);
    jest.spyOn(budget, 'next').mockImplementation(async () => void events.push(NEXT));
  }
});
afterEach(() => {
  jest.restoreAllMocks();
  events = [];
});

/** Expects `work` to wait at least once per `piece` units. */
async function expectTurns(units: number, piece: number, work: () => Promise<unknown>): Promise<void> {
  events = [];
  await work();
  expect(events.length).toBeGreaterThanOrEqual(Math.floor(units / piece) - 1);
}

const LIMITS = { maxBytes: 2 ** 24, timeoutMs: 600_000, permit: undefined };

describe('work on a large input yields to other requests', () => {
  it('before each step over a JSON body', async () => {
    const text = JSON.stringify({ items: Array.from({ length: 2_000 }, (_, i) => `é ${i}`) });
    const whole = Buffer.from(text);
    expect(whole.length).toBeGreaterThan(PORTION);
    const payload = new PassThrough();
    payload.write(whole.subarray(0, 100));
    const reading = readWhole(Object.assign(payload, { headers: {} }) as unknown as IncomingMessage, LIMITS);
    payload.end(whole.subarray(100));
    jest.spyOn(Buffer, 'concat').mockImplementationOnce(() => (events.push('joined'), whole));
    const raw = await reading;
    jest.spyOn(raw, 'toString').mockImplementationOnce(() => (events.push('decoded'), text));
    const { parse } = JSON;
    jest.spyOn(JSON, 'parse').mockImplementation((json): unknown => (events.push('parsed'), parse(json)));
    await parseJson(raw, 10_000);
    // The parts are counted between the second and the third turn.
    expect(events).toEqual([NEXT, 'joined', NEXT, NEXT, 'decoded', NEXT, 'parsed', NEXT]);
  });

  it('before it examines a JSON body’s text', async () => {
    const app = await startApp({ AUTH: 'none' });
    try {
      const name = freshName();
      const create = { name, type: 'counting', capacity: 1_000, errorRate: 0.01 };
      await call(app, 'POST', '/v1/filters', create);
      const waitsOf = async (items: string[]): Promise<number> => {
        events = [];
        const answer = await call(app, 'POST', `/v1/filters/${name}/items/check`, { items });
        expect(answer).toMatchObject({ status: 200 });
        return events.length;
      };
      expect(await waitsOf(['a'])).toBe(0);
      expect(await waitsOf(['a'.repeat(PORTION - 100), 'b'.repeat(200)])).toBeGreaterThan(0);
    } finally {
      await app.close();
    }
  });

  it('while it searches for a long string’s fault', async () => {
    const long = 'x'.repeat(2 ** 21);
    const searching = () => parseJson(Buffer.from(`["${long}`), 10).catch(() => undefined);
    await expectTurns(long.length, 2 ** 16, searching);
  });

  it('after each PORTION of URLs of any length', async () => {
    const identity = new UrlIdentity(CONFIG);
    const filter = { generation: 'g', urlProfile: {} } as unknown as Filter;
    for (const length of [0, 100, 2_690, 9_000]) {
      const url = `http://a.example/${'a'.repeat(length)}`;
      let read = 0;
      const reads: number[] = [];
      jest.spyOn(turn, 'next').mockImplementation(async () => {
        reads.push(read);
        read = 0;
      });
      const entry = {
        get url() {
          read += url.length;
          return url;
        },
        payload: '',
      };
      const { keys, invalid } = await identity.identify(filter, Array<typeof entry>(2_000).fill(entry));
      expect(keys.length + invalid.length).toBe(2_000);
      expect(Math.max(...reads, read)).toBeLessThan(PORTION + url.length);
    }
  });

  it('before it explains each URL', async () => {
    const filter = { generation: 'g', urlProfile: {} } as unknown as Filter;
    await new UrlIdentity(CONFIG).explain(filter, Array<string>(7).fill('http://a.example/'));
    expect(events).toHaveLength(7);
  });

  it('after each block of keys, many or long', async () => {
    const check = (_: unknown, { count }: { count: number }) => new Uint8Array(count);
    const membership = new Membership({ counters: { check } } as unknown as Store);
    const geometry = {
      ...{ hashScheme: 2, cellBits: 4, hashes: 4, pageCells: 512 },
      ...{ pagesPerSegment: 10, segments: 1 },
    };
    const filter = { seed: new Uint8Array(16), geometry } as unknown as Filter;
    const many = Array.from({ length: 20 * BLOCK_KEYS }, (_, i) => `${i}`);
    await expectTurns(many.length, BLOCK_KEYS, () => membership.check(filter, many, 0));
    const long = Array.from({ length: 30 }, (_, i) => `${i}`.repeat(2 ** 17));
    await expectTurns(30 * 2 ** 17, 2 ** 18, () => membership.check(filter, long, 0));
  });

  it('before each portion of lines', async () => {
    const limits: ItemLimits = {
      entries: 'items',
      maxItemBytes: 10_000,
      maxLineBytes: 100_000,
      maxStreamBytes: 1e9,
      idleMs: 600_000,
      minBytesPerSecond: 1,
      wholeBlocks: true,
    };
    const text = `${'x'.repeat(2_000)}\n`.repeat(3_000);
    for (const format of ['text', 'ndjson'] as const) {
      const wire = format === 'text' ? text : text.replaceAll(/(.+)/g, '"$1"');
      const input = new LineInput(Readable.from([Buffer.from(wire)]) as IncomingMessage, format);
      let items = 0;
      await expectTurns(text.length, 16 * PORTION + 2_000, async () => {
        for await (const block of lineBlocks(input, limits)) items += block.items.length;
      });
      expect(items).toBe(3_000);
    }
  });

  it('before each block of a stream', async () => {
    async function* source(): AsyncGenerator<LineBlock, void, undefined> {
      for (let from = 1; from <= 3; from++) yield { from, items: ['a'] };
    }
    const blocks = new BlocksAhead(source(), async ({ from }) => {
      events.push(`block ${from}`);
      return { results: [], counts: {} };
    });
    for await (const { result } of blocks.begun()) await result;
    expect(events).toEqual([NEXT, 'block 1', NEXT, 'block 2', NEXT, 'block 3']);
  });

  it('before each part of an export or import', async () => {
    const app = await startApp({ AUTH: 'none' });
    try {
      const [name, copy] = [freshName(), freshName()];
      const create = { name, type: 'counting', capacity: 1_000_000, errorRate: 0.001 };
      await call(app, 'POST', '/v1/filters', create);
      events = [];
      const file = Buffer.from(await (await fetch(`${app.url}/v1/filters/${name}/export`)).arrayBuffer());
      const parts = events.length;
      expect(parts).toBeGreaterThan(3);
      events = [];
      const headers = { 'content-type': 'application/octet-stream' };
      const body = { method: 'POST', headers, body: file };
      expect((await fetch(`${app.url}/v1/filters/import?name=${copy}`, body)).status).toBe(201);
      expect(events).toHaveLength(parts);
    } finally {
      await app.close();
    }
  });
});
