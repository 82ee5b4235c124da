import { describe, expect, it } from '@jest/globals';
import { Progress } from './progress.js';

function shown(isTTY: boolean, total: number, steps: readonly number[]): string {
  let text = '';
  const progress = new Progress({ isTTY, write: (more: string) => (text += more) }, 'discover', total);
  for (const step of steps) progress.add(step);
  progress.end();
  return text;
}

describe('progress', () => {
  it('is a plain line at the end without a terminal', () => {
    expect(shown(false, 2_000, [1_000, 1_000])).toMatch(/^discover {3}2,000 lines in \d+\.\d s\n$/);
  });

  it('is one line, redrawn repeatedly, on a terminal', () => {
    const text = shown(true, 2_000, [1_000, 1_000]);
    expect(text).toMatch(/^\rdiscover {3}\[#{15}\.{15}\] {2}50 % 1,000 lines/);
    expect(text).toMatch(/\[#{30}\] 100 % 2,000 lines in \d+\.\d s\n$/);
    expect(text.match(/\n/g)).toHaveLength(1);
  });

  it('is complete if the step had no work', () => {
    expect(shown(true, 0, [])).toContain('lines in');
  });
});
