import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import {
  BadEntry,
  resumeList,
  sendList,
  UnreachableError,
  UnseenClient,
  type Checkpoint,
  type Filter,
  type SentBlock,
} from '#client';
import { freshName, startApp, type TestApp } from '../support/app.js';
import { moved, moveTime } from '../support/moved-timers.js';
import { until } from '../support/until.js';
import { itemAt, items, newBag } from './bags.js';

const limited = (): Response =>
  new Response(JSON.stringify({ status: 429, code: 'RATE_LIMITED', detail: 'too many', errors: [] }), {
    ...{ status: 429, headers: { 'retry-after': '2' } },
  });
const bodyOf = (init?: RequestInit): string => (typeof init?.body === 'string' ? init.body : '');

afterEach(() => {
  jest.restoreAllMocks();
  jest.useRealTimers();
});

describe('a list that is sent safely', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
  });
  afterAll(() => app.close());

  const bagOf = (fetching?: typeof fetch): Promise<Filter> => newBag(app.url, fetching);

  it('reports the places of refused entries, and sends the others, with blocks in flight on both sides', async () => {
    const bag = await bagOf();
    const list: (string | BadEntry)[] = items(4_500);
    const long = (i: number): string => 'x'.repeat(9_000 + i);
    // More entries than one refusal can name.
    for (let i = 0; i < 150; i++) list[2_000 + 2 * i] = long(i);
    list[2_001] = new BadEntry('not in UTF-8');
    list[0] = '';
    const blocks: SentBlock<string | BadEntry, boolean>[] = [];
    const { counts, refused } = await resumeList(bag.add, list, { onBlock: (block) => blocks.push(block) });
    expect({ counts, refused }).toEqual({ counts: { true: 4_348 }, refused: 152 });
    expect(blocks.flatMap(({ entries }) => entries)).toEqual(list);
    const results = blocks.flatMap((block) => block.results);
    expect(results.filter((result) => result === true)).toHaveLength(4_348);
    const reasons = new Map(
      blocks.flatMap(({ from, reasons: some }) => Array.from(some, ([i, why]) => [from + i, why] as const)),
    );
    expect(reasons.size).toBe(152);
    expect([...reasons.keys()]).toEqual([...reasons.keys()].sort((a, b) => a - b));
    for (const [i, result] of results.entries())
      expect([i, result]).toEqual([i, reasons.has(i) ? undefined : true]);
    expect([reasons.get(0), reasons.get(2_001)]).toEqual([
      expect.stringMatching(/^must not be empty/),
      'not in UTF-8',
    ]);
    expect(reasons.get(2_002)).toMatch(/^must have at most 8192 bytes in UTF-8, not 9001/);
    expect(await bag.count(items(4_500).slice(1, 2_000))).toEqual(Array(1_999).fill(1));
  });

  it('continues after an entry that is too large for a request', async () => {
    const bag = await bagOf();
    const reasons: (readonly [number, string])[] = [];
    const { counts, refused } = await resumeList(bag.add, ['a', 'x'.repeat(2 ** 22), 'b'], {
      onBlock: ({ from, reasons: some }) =>
        reasons.push(...Array.from(some, ([i, why]) => [from + i, why] as const)),
    });
    expect({ counts, refused }).toEqual({ counts: { true: 2 }, refused: 1 });
    expect(reasons).toEqual([[1, expect.stringMatching(/^is too large: a JSON body may have at most/)]]);
    expect(await bag.count(['a', 'b'])).toEqual([1, 1]);
  });

  it('is also sent without checkpoints, from a source that pauses, and in order with one block in flight', async () => {
    const bag = await bagOf();
    const blocks: SentBlock<string | BadEntry, boolean>[] = [];
    const source = async function* () {
      yield ['a', 'b'];
      yield new BadEntry('damaged');
      await until('the first entries are sent', async () => blocks.length === 1);
      yield 'a';
    };
    await sendList(bag.add, source(), { ahead: 1, maxWaitMs: 5, onBlock: (block) => blocks.push(block) });
    expect(blocks).toEqual([
      {
        ...{ from: 0, entries: ['a', 'b', new BadEntry('damaged')], results: [true, true, undefined] },
        reasons: new Map([[2, 'damaged']]),
      },
      { from: 3, entries: ['a'], results: [false], reasons: new Map() },
    ]);
    expect(await bag.count(['a', 'b'])).toEqual([2, 1]);
  });

  it('reports why URLs are invalid, and passes on the call’s options', async () => {
    const set = new UnseenClient({ url: app.url }).visitedSet(freshName('set'));
    await set.create({ capacity: 1_000, maxAgeSeconds: 60 });
    const reasons: (readonly [number, string])[] = [];
    const list = ['https://example.org/', 'no URL', 'https://example.org/'];
    const { counts, refused } = await resumeList(set.visit, list, {
      ttlSeconds: 30,
      onBlock: (block) => reasons.push(...block.reasons),
    });
    expect({ counts, refused }).toEqual({ counts: { new: 1, seen: 1, invalid: 1 }, refused: 0 });
    expect(reasons).toEqual([[1, 'not absolute']]);
    await expect(resumeList(set.visit, list, { ttlSeconds: 61 })).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
    });
  });

  it('waits for an unavailable service as long as its caller says, and does nothing twice', async () => {
    const bag = await bagOf();
    const keys: (string | undefined)[] = [];
    let calls = 0;
    let isAway = false;
    const flaky: typeof fetch = async (input, init) => {
      keys.push(new Headers(init?.headers).get('idempotency-key') ?? undefined);
      if (isAway) throw new Error('connection refused');
      const answer = await fetch(input, init);
      if (++calls !== 3) return answer;
      // The third block is done, but its answer is lost.
      isAway = true;
      throw new Error('the connection is cut');
    };
    const client = new UnseenClient({
      url: app.url,
      fetch: flaky,
      timeoutMs: 1_500,
      onRetry: () => undefined,
    });
    const failures: Error[] = [];
    const onFailure = async (error: Error): Promise<number> => {
      failures.push(error);
      if (failures.length >= 2) isAway = false;
      return 1;
    };
    const { counts } = await resumeList(client.filter(bag.name).add, items(6_500), { onFailure });
    expect(counts).toEqual({ true: 6_500 });
    // On a slow machine, a call may also fail with a timeout.
    expect(failures.length).toBeGreaterThanOrEqual(2);
    expect(failures.every((error) => error instanceof UnreachableError)).toBe(true);
    expect(new Set(keys).size).toBe(7);
    expect(await bag.describe()).toMatchObject({ items: 6_500, added: 6_500 });
  });

  it('waits before a retry for as long as the service asks', async () => {
    const bag = await bagOf();
    const refused = new Set<string>();
    const busy: typeof fetch = async (input, init) => {
      const body = bodyOf(init);
      if (refused.has(body)) return fetch(input, init);
      refused.add(body);
      return limited();
    };
    const client = new UnseenClient({ url: app.url, fetch: busy, onRetry: () => undefined });
    moveTime();
    // The service refuses each block once.
    const sending = resumeList(client.filter(bag.name).add, items(3_500));
    expect(await moved('all is sent', sending)).toMatchObject({ counts: { true: 3_500 } });
    expect(refused.size).toBe(4);
    // The service needs real timers as well.
    jest.useRealTimers();
    expect(await bag.describe()).toMatchObject({ added: 3_500 });
  });

  it('on a stop, takes the answers to blocks in flight, starts no others, and can be resumed from there', async () => {
    const stop = new AbortController();
    const letGo: (() => void)[] = [];
    const held: typeof fetch = async (input, init) => {
      if (bodyOf(init).includes('"item ')) await new Promise<void>((resolve) => letGo.push(resolve));
      return fetch(input, init);
    };
    const bag = await bagOf(held);
    let given = 0;
    let closed = false;
    const source = function* () {
      try {
        for (; given < 9_000; given++) yield itemAt(given);
      } finally {
        closed = true;
      }
    };
    let saved: Checkpoint | undefined;
    const save = (checkpoint: Checkpoint): void => {
      saved = checkpoint;
    };
    const stopped = resumeList(bag.add, source(), { save, ahead: 3, stop: stop.signal });
    stopped.catch(() => undefined);
    await until('three blocks are in flight', async () => letGo.length === 3);
    expect(given).toBeLessThanOrEqual(3_000);
    stop.abort(new Error('enough'));
    letGo.reverse().forEach((go) => go());
    await expect(stopped).rejects.toThrow('enough');
    expect(letGo).toHaveLength(3);
    expect(saved).toMatchObject({ entries: 3_000, counts: { true: 3_000 } });
    expect(closed).toBe(true);
    // A list that is stopped before it starts.
    await expect(resumeList(bag.add, source(), { stop: stop.signal })).rejects.toThrow('enough');
    const { add } = new UnseenClient({ url: app.url }).filter(bag.name);
    expect(await resumeList(add, items(9_000), { from: saved })).toMatchObject({ counts: { true: 9_000 } });
    expect(await bag.describe()).toMatchObject({ added: 9_000 });
  });

  it.each(['signal', 'stop'] as const)(
    'ends by its %s even if its source hangs, and saves nothing afterwards',
    async (by) => {
      const bag = await bagOf();
      const cancel = new AbortController();
      let goOn = (): void => undefined;
      let [answered, isOver, isClosed] = [0, false, false];
      const source = async function* () {
        try {
          yield items(1_000);
          await new Promise<void>((resolve) => (goOn = resolve));
          yield items(10, 1_000);
        } finally {
          isClosed = true;
        }
      };
      let late = 0;
      const save = (): void => {
        if (isOver) late++;
      };
      const sending = resumeList(bag.add, source(), { save, [by]: cancel.signal, onBlock: () => answered++ });
      sending.catch(() => undefined);
      await until('the first block is answered', async () => answered === 1);
      cancel.abort(new Error('enough'));
      await expect(sending).rejects.toThrow('enough');
      isOver = true;
      goOn();
      await until('the source is closed', async () => isClosed);
      // Wait for another call to return, because a late save would have happened by then.
      expect(await bag.describe()).toMatchObject({ added: 1_000 });
      expect(late).toBe(0);
    },
  );

  it('ends with the failure of its source, once the blocks before it have their answers', async () => {
    const bag = await bagOf();
    const source = async function* () {
      yield items(1_500);
      throw new Error('the disk is gone');
    };
    let entries = 0;
    const save = (checkpoint: Checkpoint): void => {
      ({ entries } = checkpoint);
    };
    await expect(resumeList(bag.add, source(), { save })).rejects.toThrow('the disk is gone');
    // The rest is a partial block, so it is sent again later, with more entries.
    expect(entries).toBe(1_000);
    expect(await bag.describe()).toMatchObject({ added: 1_000 });
  });

  it('refuses invalid lists, checkpoints, and options before it sends anything', async () => {
    const { add } = new UnseenClient({ fetch: () => Promise.reject(new Error('sent')) }).filter('bag');
    const from = { key: 'k', entries: 0, digest: '', counts: {}, refused: 0, cuts: [] };
    const calls: [string, () => Promise<unknown>][] = [
      ['ahead must be a whole number from 1 to 16, not 17', () => resumeList(add, [], { ahead: 17 })],
      ['expected a list, not a string', () => resumeList(add, 'a')],
      ...[{}, { ...from, key: 7 }, { ...from, entries: undefined }, { ...from, cuts: undefined }].map(
        (wrong): [string, () => Promise<unknown>] => [
          'from must be a checkpoint that resumeList has saved',
          () => resumeList(add, [], { from: wrong as never }),
        ],
      ),
    ];
    for (const [message, call] of calls) await expect(call()).rejects.toThrow(message);
    expect(await resumeList(add, [])).toMatchObject({ entries: 0, counts: {}, refused: 0 });
  });
});

describe('a list that is cancelled while it waits', () => {
  it('leaves no timer for a refused block', async () => {
    let sent = 0;
    moveTime();
    const cancel = new AbortController();
    const busy: typeof fetch = async () => {
      sent++;
      return limited();
    };
    const { add } = new UnseenClient({ fetch: busy, onRetry: () => undefined }).filter('bag');
    const late = resumeList(add, items(3_500), { signal: cancel.signal });
    late.catch(() => undefined);
    await until('four calls wait', async () => sent === 4 && jest.getTimerCount() >= 4);
    cancel.abort(new Error('enough'));
    await expect(late).rejects.toThrow('enough');
    expect(jest.getTimerCount()).toBe(0);
  });

  it('leaves no timer running', async () => {
    moveTime();
    // The first delay is longer than the timeout, so the call is not repeated.
    jest.spyOn(Math, 'random').mockReturnValue(0.5);
    const stop = new AbortController();
    const { add } = new UnseenClient({
      ...{ fetch: () => Promise.reject(new Error('away')), timeoutMs: 1 },
    }).filter('bag');
    const waiting = resumeList(add, items(1), { stop: stop.signal, onFailure: () => 60_000 });
    waiting.catch(() => undefined);
    await until('the call waits', async () => jest.getTimerCount() === 1);
    stop.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow(UnreachableError);
    expect(jest.getTimerCount()).toBe(0);
  });
});
