import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { joinAll } from './join-all.js';

/** Resolves or fails after `turns` turns of the event loop. */
async function after(turns: number, answer: string | Error): Promise<string> {
  for (let turn = 0; turn < turns; turn++) await nextTurn();
  if (answer instanceof Error) throw answer;
  return answer;
}

describe('joinAll', () => {
  it('returns results in the order of the calls', async () => {
    expect(await joinAll([after(3, 'a'), after(1, 'b'), after(2, 'c')])).toEqual(['a', 'b', 'c']);
    expect(await joinAll([])).toEqual([]);
  });

  it('throws the first failure in the order of the calls, once all have ended', async () => {
    let ended = 0;
    const calls = [
      after(5, 'a'),
      after(9, new Error('second')),
      after(1, new Error('third')),
      after(20, 'd'),
    ];
    const counted = calls.map((call) => call.finally(() => ended++));
    await expect(joinAll(counted)).rejects.toThrow('second');
    expect(ended).toBe(4);
  });
});
