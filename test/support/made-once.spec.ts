import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { madeOnce } from './made-once.js';

describe('madeOnce', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'unseen-made-'));
  });
  afterAll(async () => {
    await rm(folder, { recursive: true, force: true });
    await rm(join('node_modules', '.cache', 'unseen-spec'), { recursive: true, force: true });
  });

  /** The times that it was made, and one call for it. */
  async function making(name: string, work: () => Promise<void> = setImmediate) {
    const input = join(folder, name);
    await writeFile(input, folder);
    const made = { times: 0 };
    const into = async (target: string) => {
      made.times++;
      await work();
      await writeFile(join(target, 'made'), String(made.times));
    };
    return { made, input, ask: () => madeOnce({ kind: 'spec', name, files: [input], into }) };
  }

  it('makes it once for callers that ask at the same time', async () => {
    const { made, ask } = await making('together');
    const [first, ...others] = await Promise.all([ask(), ask(), ask()]);
    expect(others).toEqual([first, first]);
    expect(made.times).toBe(1);
  });

  it('makes it again once an input has changed', async () => {
    const { made, input, ask } = await making('changed');
    const first = await ask();
    await writeFile(input, 'another');
    const second = await ask();
    expect(second).not.toBe(first);
    expect(await readFile(join(second, 'made'), 'utf8')).toBe('2');
    expect(await ask()).toBe(second);
    expect(made.times).toBe(2);
  });

  it('lets the next caller make it if the first one fails', async () => {
    const failures = [new Error('out of luck')];
    const { made, ask } = await making('failing', async () => {
      await setImmediate();
      const failure = failures.pop();
      if (failure) throw failure;
    });
    const outcomes = await Promise.allSettled([ask(), ask()]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(made.times).toBe(2);
  });
});
