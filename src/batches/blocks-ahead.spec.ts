import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { BlocksAhead } from './blocks-ahead.js';
import type { LineBlock } from './line-blocks.js';

const RESULT = { results: [true], counts: {} };

/** Five blocks of one line, and a store that holds each until the test completes it. `events` records all steps. */
function fiveBlocks() {
  const events: string[] = [];
  const inStore = new Map<number, { succeed: () => void; fail: () => void }>();
  async function* source(): AsyncGenerator<LineBlock, void, undefined> {
    for (let from = 1; from <= 5; from++) {
      events.push(`read ${from}`);
      yield { from, items: [`item ${from}`] };
    }
  }
  const blocks = new BlocksAhead(source(), async ({ from }, before) => {
    events.push(`ready ${from}`);
    await before;
    events.push(`store ${from}`);
    await new Promise<void>((resolve, reject) => {
      inStore.set(from, { succeed: resolve, fail: () => reject(new Error(`block ${from} failed`)) });
    });
    return RESULT;
  });
  return { events, inStore, blocks, taken: blocks.begun() };
}

/** Waits for all work that does not need the store. */
async function settled(): Promise<void> {
  for (let i = 0; i < 20; i++) await setImmediate();
}

describe('BlocksAhead', () => {
  it('prepares only one block while the previous one is in the store', async () => {
    const { events, inStore, taken } = fiveBlocks();
    await taken.next();
    await settled();
    expect(events.toSorted()).toEqual(['read 1', 'read 2', 'ready 1', 'ready 2', 'store 1']);
    inStore.get(1)!.succeed();
    await settled();
    expect(events.slice(5)).toEqual(['store 2']);
    await taken.next();
    await settled();
    expect(events.slice(6)).toEqual(['read 3', 'ready 3']);
  });

  it('yields the blocks in order, with their results', async () => {
    const { inStore, taken } = fiveBlocks();
    for (let from = 1; from <= 5; from++) {
      const { value } = await taken.next();
      await settled();
      inStore.get(from)!.succeed();
      expect(value?.block.from).toBe(from);
      expect(await value?.result).toBe(RESULT);
    }
    expect(await taken.next()).toEqual({ done: true, value: undefined });
  });

  it('sends the store no block after a failed one', async () => {
    const { events, inStore, taken } = fiveBlocks();
    const { value } = await taken.next();
    await settled();
    inStore.get(1)!.fail();
    await expect(value?.result).rejects.toThrow('block 1 failed');
    await taken.next();
    await settled();
    expect(events).toContain('ready 3');
    expect(events).not.toContain('store 2');
    expect(events).not.toContain('store 3');
  });

  it('sends the store no block after stop', async () => {
    const { events, inStore, blocks, taken } = fiveBlocks();
    const { value } = await taken.next();
    await settled();
    blocks.stop();
    inStore.get(1)!.succeed();
    expect(await value?.result).toBe(RESULT);
    await settled();
    expect(events).not.toContain('store 2');
  });

  it('yields no block after a faulty one', async () => {
    const events: number[] = [];
    const fault = { line: 2, problem: new Error() as never };
    async function* source(): AsyncGenerator<LineBlock, void, undefined> {
      yield { from: 1, items: ['a'], fault };
      events.push(2);
    }
    const taken = new BlocksAhead(source(), async () => RESULT).begun();
    expect((await taken.next()).value?.block.fault).toBe(fault);
    expect((await taken.next()).done).toBe(true);
    expect(events).toEqual([]);
  });
});
