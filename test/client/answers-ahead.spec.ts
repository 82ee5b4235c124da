import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { answersTo, type Sending } from '../../libs/client/src/answers-ahead.js';
import { blocksOf } from '../../libs/client/src/blocks.js';
import { BadEntry, Digest, sizeOf } from '../../libs/client/src/entries.js';

/** A call answered by the test. */
interface Call {
  readonly block: number;
  readonly place: number;
  readonly signal: AbortSignal;
  readonly answer: () => void;
  readonly fail: (error: Error) => void;
}

/** Resolves when only work that waits for an answer is left. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await setImmediate();
}

/** Reads the answers to blocks 0 to `count` - 1. */
function reading(count: number, sending: Sending) {
  const calls: Call[] = [];
  const state = { calls, answered: [] as number[], given: 0, error: undefined as unknown, isOver: false };
  const blocks = async function* () {
    for (; state.given < count;) yield state.given++;
  };
  const send = (block: number, place: number, signal: AbortSignal): Promise<number> =>
    new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error));
      calls.push({ block, place, signal, answer: () => resolve(block), fail: reject });
    });
  const read = async (): Promise<void> => {
    for await (const answer of answersTo(blocks(), send, sending)) state.answered.push(answer);
  };
  void read()
    .catch((error: unknown) => (state.error = error))
    .finally(() => (state.isOver = true));
  return state;
}

const LOST = new Error('lost');
const throwing = (error: Error): never => {
  throw error;
};

describe('blocks that are sent ahead', () => {
  it('are limited in number, and get results in order', async () => {
    const state = reading(5, { ahead: 2 });
    await settled();
    expect([state.calls.length, state.given]).toEqual([2, 2]);
    state.calls[1]?.answer();
    await settled();
    expect([state.answered, state.calls.length]).toEqual([[], 2]);
    state.calls[0]?.answer();
    await settled();
    expect([state.answered, state.calls.length]).toEqual([[0, 1], 4]);
    for (const { answer } of state.calls) answer();
    await settled();
    state.calls[4]?.answer();
    await settled();
    expect(state).toMatchObject({ answered: [0, 1, 2, 3, 4], error: undefined, isOver: true });
    expect(state.calls.map(({ block, place }) => [block, place])).toEqual([0, 1, 2, 3, 4].map((i) => [i, i]));
  });

  it('are aborted when one fails, without `onFailure`', async () => {
    const state = reading(5, { ahead: 3 });
    await settled();
    state.calls[0]?.fail(LOST);
    await settled();
    expect(state).toMatchObject({ answered: [], error: LOST, isOver: true });
    expect(state.calls.map(({ signal }) => signal.aborted)).toEqual([true, true, true]);
  });

  it('have all ended before the caller sees a failure, without unhandled rejections', async () => {
    const told: string[] = [];
    const state = reading(5, {
      ahead: 3,
      onFailure: (error) => {
        told.push(error.message);
        throw error;
      },
    });
    await settled();
    // The second call fails while the first one still waits for its answer, which arrives later.
    state.calls[1]?.fail(LOST);
    await settled();
    expect(told).toEqual([]);
    state.calls[0]?.answer();
    await settled();
    expect([state.answered, told, state.calls.length]).toEqual([[0], [], 3]);
    state.calls[2]?.fail(new Error('lost, too'));
    await settled();
    expect(told).toEqual(['lost']);
    expect(state).toMatchObject({ answered: [0], error: LOST, isOver: true });
  });

  it('are resent if they fail, each with its original place', async () => {
    const state = reading(4, { ahead: 3, onFailure: () => 1 });
    await settled();
    const [first, second, third] = state.calls;
    first?.fail(LOST);
    second?.answer();
    third?.fail(LOST);
    while (state.calls.length < 5) await settled();
    expect(state.calls.slice(3).map(({ block, place }) => [block, place])).toEqual([
      [0, 0],
      [2, 2],
    ]);
    for (const { answer } of state.calls.slice(3)) answer();
    while (state.calls.length < 6) await settled();
    state.calls[5]?.answer();
    await settled();
    expect(state).toMatchObject({ answered: [0, 1, 2, 3], error: undefined, isOver: true });
  });

  it.each([
    ['its caller throws', (fail: (error: Error) => void) => fail(new Error('enough')), 'enough'],
    ['it is stopped', undefined, 'lost'],
  ] as const)('end while they wait for the caller if %s', async (_, decide, message) => {
    const stop = new AbortController();
    let fail = (_error: Error): void => undefined;
    const onFailure = (): Promise<number> => new Promise((_resolve, reject) => (fail = reject));
    const state = reading(4, { ahead: 2, onFailure, stop: stop.signal });
    await settled();
    for (const call of state.calls) call.fail(LOST);
    await settled();
    expect(state.isOver).toBe(false);
    if (decide) decide(fail);
    else stop.abort();
    await settled();
    expect(state).toMatchObject({ error: { message }, isOver: true });
    fail(new Error('late'));
    await settled();
  });

  it('get results after a stop, and no more blocks are read', async () => {
    const stop = new AbortController();
    const state = reading(9, { ahead: 3, stop: stop.signal, onFailure: throwing });
    await settled();
    stop.abort(new Error('enough'));
    for (const { answer } of state.calls) answer();
    await settled();
    expect(state).toMatchObject({
      answered: [0, 1, 2],
      error: { message: 'enough' },
      given: 3,
      isOver: true,
    });
  });

  it('at the end of the list get results despite a stop', async () => {
    const stop = new AbortController();
    const state = reading(2, { ahead: 3, stop: stop.signal });
    await settled();
    stop.abort(new Error('enough'));
    for (const { answer } of state.calls) answer();
    await settled();
    expect(state).toMatchObject({ answered: [0, 1], error: undefined, isOver: true });
  });

  it('are aborted with the signal’s reason, during any wait', async () => {
    const abort = new AbortController();
    const state = reading(9, { ahead: 2, signal: abort.signal, onFailure: () => 60_000 });
    await settled();
    abort.abort(LOST);
    await settled();
    expect(state).toMatchObject({ answered: [], error: LOST, isOver: true });
    expect(state.calls.every(({ signal }) => signal.reason === LOST)).toBe(true);
  });
});

describe('a list’s blocks', () => {
  const cut = async (
    source: Parameters<typeof blocksOf<string>>[0],
    cutting: object = {},
  ): Promise<string[][]> => {
    const blocks: string[][] = [];
    for await (const block of blocksOf(source, { sizeOf, keepsRest: false, ...cutting })) blocks.push(block);
    return blocks;
  };
  const many = Array.from({ length: 2_500 }, (_, i) => String(i));
  const lengths = (blocks: readonly string[][]): number[] => blocks.map(({ length }) => length);

  it('are the same for single entries and for arrays of entries', async () => {
    const one = async function* () {
      yield* many;
    };
    const some = function* () {
      for (let i = 0; i < many.length; i += 700) yield many.slice(i, i + 700);
    };
    const blocks = await cut(many);
    expect(lengths(blocks)).toEqual([1_000, 1_000, 500]);
    for (const source of [one(), some(), [many], new Set(many)]) expect(await cut(source)).toEqual(blocks);
  });

  it('end before they are too large, and an entry that is too large forms its own block', async () => {
    const large = 'x'.repeat(2 ** 18);
    expect(lengths(await cut(['a', large, large, 'y'.repeat(2 ** 20), 'b']))).toEqual([2, 1, 1, 1]);
  });

  it('close their source if a skipped entry has changed', async () => {
    let isClosed = false;
    const source = async function* () {
      try {
        yield* many;
      } finally {
        isClosed = true;
      }
    };
    const skipped = (): void => throwing(new Error('the list has changed'));
    await expect(cut(source(), { skip: 10, skipped })).rejects.toThrow('the list has changed');
    expect(isClosed).toBe(true);
  });

  it('begin after the skipped entries, and end at the saved cuts', async () => {
    const skipped: string[] = [];
    const blocks = await cut([many], {
      ...{ skip: 1_100, skipped: (entry: string) => skipped.push(entry), cuts: [2_400, 1_000, 1_105, 3_000] },
    });
    expect(lengths(blocks)).toEqual([5, 1_000, 295, 100]);
    expect(skipped).toEqual(many.slice(0, 1_100));
    expect(blocks.flat()).toEqual(many.slice(1_100));
  });
});

describe('a list’s digest', () => {
  const digestOf = (...entries: unknown[]): string => {
    const digest = new Digest();
    for (const entry of entries) digest.add(entry);
    return digest.text();
  };

  it('differs for any change in a list', () => {
    const lists = [
      ...[
        [],
        [''],
        ['', ''],
        ['a'],
        ['b'],
        ['ab'],
        ['a', 'b'],
        ['b', 'a'],
        ['a\nb'],
        ['a', '\nb'],
        ['\0'],
        ['\0\0'],
      ],
      ...[['\ud800'], ['\udfff'], ['\ufffd'], [new BadEntry('a')], [new BadEntry('a'), new BadEntry('a')]],
      ...[[{ url: 'a', payload: 'b' }], [{ url: 'ab', payload: '' }], [{ url: 'a', payload: '' }]],
      ...Array.from({ length: 10_000 }, (_, i) => [`https://example.org/${i}`]),
    ];
    expect(new Set(lists.map((list) => digestOf(...list))).size).toBe(lists.length);
    expect(digestOf(new BadEntry('a'))).toBe(digestOf(new BadEntry('worded otherwise')));
  });

  it('never changes, because checkpoints contain it', () => {
    expect(digestOf('https://example.org/a', 'é€😀')).toBe('820c8de4c5032798');
  });
});
