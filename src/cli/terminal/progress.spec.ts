import { describe, expect, it } from '@jest/globals';
import { bytes, number, Progress, time } from './progress.js';

/** A progress whose output and clock the test controls. */
function shown(isTTY: boolean, total: number | undefined) {
  const written: string[] = [];
  const meter = { read: 0, total };
  let ms = 0;
  const output = { isTTY, columns: 100, write: (text: string) => written.push(text) };
  const progress = new Progress(output, 'visit crawl', meter, () => ms);
  return { written, meter, progress, pass: (more: number) => (ms += more) };
}

describe('progress', () => {
  it('is a bar on a terminal, with rate and time left, and is cleared at the end', () => {
    const { written, meter, progress, pass } = shown(true, 1_000);
    pass(2_000);
    meter.read = 250;
    progress.add(50_000);
    expect(written).toEqual([
      '\r[######..................]  25 % visit crawl: 50,000 lines, 25,000/s, 6 s left\x1b[K',
    ]);
    // Not redrawn too often.
    pass(10);
    progress.add(1);
    expect(written).toHaveLength(1);
    progress.clear();
    expect(written.at(-1)).toBe('\r\x1b[K');
  });

  it('of a resumed job shows the rate and time left for this run', () => {
    const { written, meter, progress, pass } = shown(true, 1_000);
    // The run reads entries that an earlier run sent, but doesn't resend them.
    pass(1_000);
    meter.read = 500;
    progress.resume();
    pass(2_000);
    meter.read = 750;
    progress.add(50_000);
    expect(written).toEqual([
      '\r[##################......]  75 % visit crawl: 50,000 lines, 25,000/s, 2 s left\x1b[K',
    ]);
  });

  it('is a plain line from time to time on any other output, without a bar', () => {
    const { written, progress, pass } = shown(false, undefined);
    for (let i = 0; i < 20; i++) {
      pass(1_000);
      progress.add(1_000);
    }
    expect(written).toEqual(['visit crawl: 10,000 lines, 1,000/s\n', 'visit crawl: 20,000 lines, 1,000/s\n']);
    progress.clear();
    expect(written).toHaveLength(2);
  });

  it('formats times and sizes for people', () => {
    expect([5, 65, 7_265].map(time)).toEqual(['5 s', '1:05', '2:01:05']);
    expect([0, 999, 11_736_320, 2e12].map(bytes)).toEqual(['0 B', '999 B', '11.7 MB', '2.0 TB']);
  });
});

describe('a count', () => {
  it.each([0, 12, 999, 1_000, 65_536, 100_000, 1_234_567, Number.MAX_SAFE_INTEGER])(
    'has commas: %d',
    (count) => {
      expect(number(count)).toBe(count.toLocaleString('en'));
    },
  );
});
