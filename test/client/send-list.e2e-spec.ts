import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import {
  BadEntry,
  ChangedListError,
  resumeList,
  sendList,
  UnreachableError,
  UnseenClient,
  type Checkpoint,
  type Filter,
  type SentBlock,
} from '#client';
import { freshName, type TestApp } from '../support/app.js';
import { moved, moveTime } from '../support/moved-timers.js';
import { Random, SEED } from '../support/random.js';
import { recordedFetch } from '../support/recorded-fetch.js';
import { until } from '../support/until.js';
import { STORES } from '../e2e/stores.js';

/** A multiset: its counts show if an item was added twice. */
const BAG = { type: 'counting', semantics: 'multiset', capacity: 20_000, errorRate: 1e-9 } as const;
/** Ends of a list, before it is let run to its own. */
const ENDS = 25;

const itemAt = (i: number): string => `item ${i}`;
const items = (count: number, from = 0): string[] =>
  Array.from({ length: count }, (_, i) => itemAt(from + i));

/** A checkpoint as it comes back from a file. */
const reread = (checkpoint: Checkpoint): Checkpoint => JSON.parse(JSON.stringify(checkpoint)) as Checkpoint;

/** The service handles each request, and its answers are lost. */
function deafFetch() {
  const deaf = {
    done: 0,
    fetch: async (...[input, init]: Parameters<typeof fetch>): Promise<Response> => {
      await fetch(input, { ...init, signal: null });
      deaf.done++;
      return new Promise((_, reject) =>
        init?.signal?.addEventListener('abort', () => reject(new Error('killed'))),
      );
    },
  };
  return deaf;
}

const bodyOf = (init?: RequestInit): string => (typeof init?.body === 'string' ? init.body : '');

afterEach(() => {
  jest.useRealTimers();
});

describe.each(STORES)('a list that is sent safely, $name store', ({ start }) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await start();
  });
  afterAll(() => app.close());

  const bagOf = async (fetching: typeof fetch = fetch): Promise<Filter> => {
    const client = new UnseenClient({ url: app.url, fetch: fetching, onRetry: () => undefined });
    const bag = client.filter(freshName('bag'));
    await bag.create(BAG);
    return bag;
  };
  const describedItems = async (bag: Filter): Promise<number> => {
    const description = await bag.describe();
    return 'items' in description ? description.items : 0;
  };
  it(`counts each item once wherever it is killed, and goes on (SEED=${SEED})`, async () => {
    const random = new Random(SEED);
    const bag = await bagOf();
    // Each tenth is there twice, far away. One in the middle is refused, and one is no item at all.
    const list: (string | BadEntry)[] = [...items(10_000), ...items(1_000)];
    list.splice(3_300, 1, 'x'.repeat(10_000));
    list.splice(7_700, 0, new BadEntry('line 7701 is damaged'));
    const stray: Promise<unknown>[] = [];
    let saved: Checkpoint | undefined;
    let ended: Checkpoint | undefined;
    for (let ends = 0; ended === undefined; ends++) {
      const killed = new AbortController();
      let steps = ends < ENDS ? 1 + random.below(20) : Infinity;
      /** Whether the process still lives: each of its deeds, and each answer, may be the last. */
      const lives = (): boolean => {
        if (--steps === 0) killed.abort(new Error('killed'));
        return !killed.signal.aborted;
      };
      const mortal: typeof fetch = async (input, init) => {
        if (!lives()) throw new Error('killed');
        // The service handles the request, even if the client dies meanwhile.
        const answer = fetch(input, { ...init, signal: null });
        stray.push(answer.catch(() => undefined));
        const response = await answer;
        if (!lives()) throw new Error('killed');
        return response;
      };
      const client = new UnseenClient({ url: app.url, fetch: mortal });
      const save = (checkpoint: Checkpoint): void => {
        if (!lives()) return;
        saved = reread(checkpoint);
        lives();
      };
      const ahead = 1 + random.below(6);
      const sending = resumeList(client.filter(bag.name).add, list, {
        ...{ from: saved, save, ahead, signal: killed.signal },
      });
      ended = await sending.catch((error: unknown) => {
        expect(error).toMatchObject({ message: 'killed' });
        return undefined;
      });
    }
    await Promise.all(stray);
    expect(ended).toEqual(saved);
    expect(ended).toMatchObject({
      entries: 11_001,
      refused: 2,
      counts: { true: 9_999, false: 1_000 },
      cuts: [],
    });
    expect(await bag.describe()).toMatchObject({ items: 9_999, added: 9_999, duplicate: 1_000 });
    const copies = items(10_000).map((_, i) => (i === 3_300 ? 0 : i < 1_000 ? 2 : 1));
    expect(await bag.count(items(10_000))).toEqual(copies);
  });

  it('reports refused entries in their places, and sends the others, with blocks in flight on both sides', async () => {
    const bag = await bagOf();
    const list: (string | BadEntry)[] = items(4_500);
    const long = (i: number): string => 'x'.repeat(9_000 + i);
    // More than a refusal names.
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

  it('goes on after an entry that is too large for a request', async () => {
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

  it('is sent without checkpoints, too, from one that pauses, and in its order with one block in flight', async () => {
    const bag = await bagOf();
    const blocks: SentBlock<string | BadEntry, boolean>[] = [];
    const source = async function* () {
      yield ['a', 'b'];
      yield new BadEntry('damaged');
      await until('what came is sent', async () => blocks.length === 1);
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

  it('says why URLs are invalid, and passes on what goes with a verb', async () => {
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

  it('is saved before its first block, one checkpoint at a time, in the order of the list', async () => {
    const bag = await bagOf();
    const saved: Checkpoint[] = [];
    let saving = 0;
    const save = async (checkpoint: Checkpoint): Promise<void> => {
      expect(++saving).toBe(1);
      if (saved.length === 0) expect(await describedItems(bag)).toBe(0);
      await new Promise((resolve) => setImmediate(resolve));
      saved.push(checkpoint);
      saving--;
    };
    await resumeList(bag.add, items(4_200), { save });
    expect(saved.map(({ entries }) => entries)).toEqual(
      saved.map(({ entries }) => entries).sort((a, b) => a - b),
    );
    expect(new Set(saved.map(({ entries }) => entries))).toEqual(
      new Set([0, 1_000, 2_000, 3_000, 4_000, 4_200]),
    );
    expect(new Set(saved.map(({ key }) => key)).size).toBe(1);
    // Before a block that is not full was sent, it was known where it ends.
    expect(saved.some(({ cuts }) => cuts.includes(4_200))).toBe(true);
  });

  it('ends when a checkpoint cannot be saved, and saves none after it', async () => {
    const bag = await bagOf();
    for (const first of [0, 1_000]) {
      let failures = 0;
      const save = ({ entries }: Checkpoint): void => {
        if (entries < first) return;
        failures++;
        throw new Error('the disk is full');
      };
      await expect(resumeList(bag.add, items(5_500), { save })).rejects.toThrow('the disk is full');
      expect(failures).toBe(1);
    }
  });

  it('goes on with the blocks that it was cut into: of a slow source, and of a list that has grown since', async () => {
    const bag = await bagOf();
    const deaf = deafFetch();
    const slow = async function* () {
      yield items(10);
      await until('the first block is done', async () => deaf.done === 1);
      yield items(15, 10);
    };
    let saved: Checkpoint | undefined;
    const save = (checkpoint: Checkpoint): void => {
      saved = reread(checkpoint);
    };
    const kill = new AbortController();
    const killed = resumeList(
      new UnseenClient({ url: app.url, fetch: deaf.fetch }).filter(bag.name).add,
      slow(),
      {
        ...{ save, maxWaitMs: 1, signal: kill.signal },
      },
    );
    killed.catch(() => undefined);
    await until('both blocks are done', async () => deaf.done === 2);
    kill.abort(new Error('killed'));
    await expect(killed).rejects.toThrow('killed');
    expect(saved).toMatchObject({ entries: 0, cuts: [10, 25] });
    await resumeList(bag.add, items(40), { from: saved, save });
    expect(saved).toMatchObject({ entries: 40, counts: { true: 40 }, cuts: [] });
    expect(await bag.count(items(40))).toEqual(Array(40).fill(1));
  });

  it('goes on with the blocks that were in flight, however slow its source is now', async () => {
    const bag = await bagOf();
    const deaf = deafFetch();
    let saved: Checkpoint | undefined;
    const save = (checkpoint: Checkpoint): void => {
      saved = reread(checkpoint);
    };
    const kill = new AbortController();
    const killed = resumeList(
      new UnseenClient({ url: app.url, fetch: deaf.fetch }).filter(bag.name).add,
      items(1_500),
      {
        ...{ save, maxWaitMs: 1, signal: kill.signal },
      },
    );
    killed.catch(() => undefined);
    await until('both blocks are done', async () => deaf.done === 2);
    kill.abort(new Error('killed'));
    await expect(killed).rejects.toThrow('killed');
    const slow = async function* () {
      for (const [from, count] of [
        [0, 300],
        [300, 900],
        [1_200, 800],
      ] as const) {
        yield items(count, from);
        // Longer than the first entry of a block waits for others.
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    };
    await resumeList(bag.add, slow(), { from: saved, save, maxWaitMs: 1 });
    expect(saved).toMatchObject({ entries: 2_000, counts: { true: 2_000 }, cuts: [] });
    expect(await bag.count(items(2_000))).toEqual(Array(2_000).fill(1));
  });

  it('does not go on with another list', async () => {
    const recorded = recordedFetch();
    const bag = await bagOf(recorded.fetch);
    let saved: Checkpoint | undefined;
    const checkpoint = await resumeList(bag.add, items(2_500), {
      save: (reached) => {
        if (reached.entries === 1_000) saved = reached;
      },
    });
    const others = ['another', ...items(2_499, 1)];
    const changed = [
      [items(999), 'the list has changed: there are only 999 entries'],
      [others, 'the list has changed: the first 1000 entries are others'],
      [[...items(1_000), ...others], 'the list has changed: entries after the first 1000 are others'],
    ] as const;
    recorded.sent.length = 0;
    for (const [list, message] of changed) {
      const failure = await resumeList(bag.add, list, { from: saved }).catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(ChangedListError);
      expect(failure).toMatchObject({ message });
    }
    expect(await bag.describe()).toMatchObject({ added: 2_500 });
    // A list that is over is not sent again.
    recorded.sent.length = 0;
    expect(await resumeList(bag.add, items(2_500), { from: checkpoint })).toEqual(checkpoint);
    expect(recorded.sent).toEqual([]);
  });

  it('ends at a refusal, and all blocks before it are saved', async () => {
    const small = new UnseenClient({ url: app.url }).filter(freshName('small'));
    await small.create({ ...BAG, capacity: 1_500 });
    let saved: Checkpoint | undefined;
    const list = items(9_000);
    const save = (checkpoint: Checkpoint): void => {
      saved = checkpoint;
    };
    for (let call = 1; call <= 2; call++) {
      const sending = resumeList(small.add, list, { from: saved, save, ahead: 1 });
      await expect(sending).rejects.toMatchObject({ code: 'FILTER_FULL' });
      const { entries = 0, counts } = saved ?? {};
      expect(entries).toBeGreaterThan(1_500);
      expect(counts).toEqual({ true: entries });
      expect(await small.describe()).toMatchObject({ added: entries });
    }
  });

  it('waits as long as its caller says for a service that is away, and does nothing twice', async () => {
    const bag = await bagOf();
    const keys: (string | undefined)[] = [];
    let calls = 0;
    let isAway = false;
    const flaky: typeof fetch = async (input, init) => {
      keys.push(new Headers(init?.headers).get('idempotency-key') ?? undefined);
      if (isAway) throw new Error('connection refused');
      const answer = await fetch(input, init);
      if (++calls !== 3) return answer;
      // The third block is done, and its answer is lost.
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
    // On a slow machine a call may be late, too.
    expect(failures.length).toBeGreaterThanOrEqual(2);
    expect(failures.every((error) => error instanceof UnreachableError)).toBe(true);
    expect(new Set(keys).size).toBe(7);
    expect(await bag.describe()).toMatchObject({ items: 6_500, added: 6_500 });
  });

  it('comes again as late as the service asks, and leaves no timer when it is cancelled meanwhile', async () => {
    moveTime();
    const bag = await bagOf();
    const problem = JSON.stringify({ status: 429, code: 'RATE_LIMITED', detail: 'too many', errors: [] });
    const refused = new Set<string>();
    let refusals = Infinity;
    const busy: typeof fetch = async (input, init) => {
      const body = bodyOf(init);
      if (refused.has(body) || refusals-- <= 0) return fetch(input, init);
      refused.add(body);
      return new Response(problem, { status: 429, headers: { 'retry-after': '2' } });
    };
    const { add } = new UnseenClient({ url: app.url, fetch: busy, onRetry: () => undefined }).filter(
      bag.name,
    );
    // Each block is refused once.
    const sending = resumeList(add, items(3_500));
    expect(await moved('all is sent', sending)).toMatchObject({ counts: { true: 3_500 } });
    expect(refused.size).toBe(4);
    expect(await bag.describe()).toMatchObject({ added: 3_500 });

    const cancel = new AbortController();
    const late = resumeList(add, items(3_500, 10_000), { signal: cancel.signal });
    late.catch(() => undefined);
    await until('four wait', async () => refused.size === 8 && jest.getTimerCount() >= 4);
    cancel.abort(new Error('enough'));
    await expect(late).rejects.toThrow('enough');
    expect(jest.getTimerCount()).toBe(0);
    // Nor while it waits for its caller.
    const stop = new AbortController();
    const closed = new UnseenClient({
      url: app.url,
      fetch: () => Promise.reject(new Error('away')),
      timeoutMs: 1,
    });
    const waiting = resumeList(closed.filter(bag.name).add, items(1), {
      stop: stop.signal,
      onFailure: () => 60_000,
    });
    waiting.catch(() => undefined);
    await until('it waits', async () => jest.getTimerCount() === 1);
    stop.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow(UnreachableError);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('takes the answers of blocks in flight when it is stopped, begins no other, and goes on from there', async () => {
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
    await until('three are in flight', async () => letGo.length === 3);
    expect(given).toBeLessThanOrEqual(3_000);
    stop.abort(new Error('enough'));
    letGo.reverse().forEach((go) => go());
    await expect(stopped).rejects.toThrow('enough');
    expect(letGo).toHaveLength(3);
    expect(saved).toMatchObject({ entries: 3_000, counts: { true: 3_000 } });
    expect(closed).toBe(true);
    // Stopped for good before it begins.
    await expect(resumeList(bag.add, source(), { stop: stop.signal })).rejects.toThrow('enough');
    const { add } = new UnseenClient({ url: app.url }).filter(bag.name);
    expect(await resumeList(add, items(9_000), { from: saved })).toMatchObject({ counts: { true: 9_000 } });
    expect(await bag.describe()).toMatchObject({ added: 9_000 });
  });

  it.each(['signal', 'stop'] as const)(
    'ends by its %s although its source hangs, and saves nothing after',
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
      // A late save would have happened before the answer to this call.
      expect(await bag.describe()).toMatchObject({ added: 1_000 });
      expect(late).toBe(0);
    },
  );

  it('ends with the failure of its source, once the blocks before it are answered', async () => {
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
    // The rest is no whole block: it comes again with its successors.
    expect(entries).toBe(1_000);
    expect(await bag.describe()).toMatchObject({ added: 1_000 });
  });

  it('refuses what is no list, no checkpoint, and bad options, before anything is sent', async () => {
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
