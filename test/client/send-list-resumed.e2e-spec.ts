import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { BadEntry, ChangedListError, resumeList, UnseenClient, type Checkpoint, type Filter } from '#client';
import { freshName, startApp, type TestApp } from '../support/app.js';
import { Random, SEED } from '../support/random.js';
import { recordedFetch } from '../support/recorded-fetch.js';
import { until } from '../support/until.js';
import { BAG, items, newBag } from './bags.js';

/** How often the list is killed before it may finish. */
const ENDS = 25;

/** The checkpoint after a round trip through JSON, as in a file. */
const reread = (checkpoint: Checkpoint): Checkpoint => JSON.parse(JSON.stringify(checkpoint)) as Checkpoint;

/** A fetch whose requests reach the service but whose answers are lost. */
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

describe('a list that is resumed', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
  });
  afterAll(() => app.close());

  const bagOf = (fetching?: typeof fetch): Promise<Filter> => newBag(app.url, fetching);
  const describedItems = async (bag: Filter): Promise<number> => {
    const description = await bag.describe();
    return 'items' in description ? description.items : 0;
  };

  it(`counts each item once, even if it is killed and resumed anywhere (SEED=${SEED})`, async () => {
    const random = new Random(SEED);
    const bag = await bagOf();
    // Each tenth item occurs twice, far apart. One entry is refused, and one is not an item.
    const list: (string | BadEntry)[] = [...items(10_000), ...items(1_000)];
    list.splice(3_300, 1, 'x'.repeat(10_000));
    list.splice(7_700, 0, new BadEntry('line 7701 is damaged'));
    const stray: Promise<unknown>[] = [];
    let saved: Checkpoint | undefined;
    let ended: Checkpoint | undefined;
    for (let ends = 0; ended === undefined; ends++) {
      const killed = new AbortController();
      let steps = ends < ENDS ? 1 + random.below(20) : Infinity;
      /** True while the process is alive. Each action and each answer may be its last. */
      const lives = (): boolean => {
        if (--steps === 0) killed.abort(new Error('killed'));
        return !killed.signal.aborted;
      };
      const mortal: typeof fetch = async (input, init) => {
        if (!lives()) throw new Error('killed');
        // The service handles the request even if the client dies.
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

  it('saves checkpoints before its first block, one at a time, in list order', async () => {
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
    // A partial block's end was saved before the block was sent.
    expect(saved.some(({ cuts }) => cuts.includes(4_200))).toBe(true);
  });

  it('ends if saving a checkpoint fails, and saves none after it', async () => {
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

  it('keeps its saved blocks, for a slow source and for a list that has grown', async () => {
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

  it('repeats the blocks that were in flight, even from a slower source', async () => {
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
        // Longer than a block's first entry waits for others.
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    };
    await resumeList(bag.add, slow(), { from: saved, save, maxWaitMs: 1 });
    expect(saved).toMatchObject({ entries: 2_000, counts: { true: 2_000 }, cuts: [] });
    expect(await bag.count(items(2_000))).toEqual(Array(2_000).fill(1));
  });

  it('refuses to continue with a different list', async () => {
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
      [items(999), 'the list has changed: it now has only 999 entries, but 1000 were already processed'],
      [others, 'the list has changed: the first 1000 entries differ'],
      [[...items(1_000), ...others], 'the list has changed: the entries after the first 1000 differ'],
    ] as const;
    recorded.sent.length = 0;
    for (const [list, message] of changed) {
      const failure = await resumeList(bag.add, list, { from: saved }).catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(ChangedListError);
      expect(failure).toMatchObject({ message });
    }
    expect(await bag.describe()).toMatchObject({ added: 2_500 });
    // A finished list isn't resent.
    recorded.sent.length = 0;
    expect(await resumeList(bag.add, items(2_500), { from: checkpoint })).toEqual(checkpoint);
    expect(recorded.sent).toEqual([]);
  });

  it('ends at a refusal, after saving all blocks before it', async () => {
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
});
