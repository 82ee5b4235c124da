import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { PathError, UnseenClient } from '#client';
import { freshName, startApp, type TestApp } from '../support/app.js';
import { until } from '../support/until.js';

const urlAt = (i: number): string => `https://example.org/${i}`;

describe('a client list', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
  });
  afterAll(() => app.close());

  const made = async () => {
    const set = new UnseenClient({ url: app.url }).visitedSet(freshName('set'));
    await set.create({ capacity: 100_000 });
    return set;
  };

  it('is read at most a fixed number of blocks ahead of its reader', async () => {
    const set = await made();
    let given = 0;
    const source = function* () {
      for (let i = 0; i < 50_000; i++) {
        given++;
        yield urlAt(i);
      }
    };
    let read = 0;
    for await (const [url, result] of set.visit(source(), { ahead: 2 })) {
      expect([url, result]).toEqual([urlAt(read), 'new']);
      read++;
      expect(given).toBeLessThanOrEqual(read + 4_001);
      if (read === 10_000) break;
    }
    expect(given).toBeLessThanOrEqual(14_001);
  });

  it('yields the results before a failure of its source, then the failure', async () => {
    const set = await made();
    for (const count of [0, 1, 1_500]) {
      const source = async function* () {
        for (let i = 0; i < count; i++) yield urlAt(i);
        throw new Error('the disk is gone');
      };
      const found: string[] = [];
      const reading = async (): Promise<void> => {
        for await (const [, result] of set.visit(source())) found.push(result);
      };
      await expect(reading()).rejects.toThrow('the disk is gone');
      expect(found).toHaveLength(count);
    }
  });

  it('yields the results before a failed call, then the failure', async () => {
    const small = new UnseenClient({ url: app.url }).visitedSet(freshName('small'));
    await small.create({ capacity: 600, growth: 'none' });
    const found: string[] = [];
    const reading = async (): Promise<void> => {
      const list = Array.from({ length: 5_000 }, (_, i) => urlAt(i));
      for await (const [, result] of small.visit(new Set(list), { ahead: 1 })) found.push(result);
    };
    await expect(reading()).rejects.toMatchObject({ name: 'FullError', code: 'FILTER_FULL' });
    expect(found).toHaveLength(1_000);
  });

  it('closes its source when the reader leaves', async () => {
    const set = await made();
    let closed = false;
    const source = async function* () {
      try {
        for (let i = 0; ; i++) yield urlAt(i);
      } finally {
        closed = true;
      }
    };
    for await (const [, result] of set.visit(source())) {
      expect(result).toBe('new');
      break;
    }
    await until('the source is closed', async () => closed);
  });

  it('returns results for a source that pauses, and ends on an abort although its source hangs', async () => {
    const set = await made();
    const abort = new AbortController();
    const source = async function* () {
      yield urlAt(1);
      yield urlAt(2);
      await new Promise(() => undefined);
    };
    const found: string[] = [];
    const reading = async (): Promise<void> => {
      for await (const [url] of set.visit(source(), { signal: abort.signal })) {
        found.push(url);
        if (found.length === 2) abort.abort(new Error('enough'));
      }
    };
    await expect(reading()).rejects.toThrow('enough');
    expect(found).toEqual([urlAt(1), urlAt(2)]);
  });

  it('refuses invalid lists and options before it sends anything', async () => {
    const set = await made();
    // For callers without types.
    for (const wrong of [undefined, null, 7]) {
      expect(() => set.visit(wrong as never)).toThrow(TypeError);
    }
    for (const ahead of [0, 17, 1.5, NaN]) {
      expect(() => set.visit(new Set(['a']), { ahead })).toThrow(`1 to 16, not ${ahead}`);
    }
    for (const url of [
      'redis://localhost',
      'nowhere',
      'http://u:secret@127.0.0.1',
      'http://127.0.0.1/?a=1',
    ]) {
      expect(() => new UnseenClient({ url })).toThrow(TypeError);
      expect(() => new UnseenClient({ url })).not.toThrow('secret');
    }
    expect(() => new UnseenClient({ timeoutMs: 0 })).toThrow(
      'timeoutMs must be a number from 1 to 2147483647, not 0',
    );
    for (const part of ['', '.', '..']) {
      expect(() => new UnseenClient().filter(part)).toThrow(PathError);
      expect(() => new UnseenClient().visitedSet('a').syncs.get(part)).toThrow(PathError);
      await expect(new UnseenClient().rotateKey(part)).rejects.toThrow(PathError);
      await expect(new UnseenClient().revokeKey(part)).rejects.toThrow(PathError);
    }
  });
});
