import { describe, expect, it } from '@jest/globals';
import { filterBytes, planGeometry } from '#bloom';
import { redisSegmentation } from '../../libs/store/src/segmentation.js';
import { DEFAULT_ERROR_RATE } from '../../src/visited-sets/visited-set.dto.js';
import { rowsOf } from '../support/markdown.js';

const GIB = 2 ** 30;

/** A number as the page writes it: two digits, and more only if it has more before the decimal point. */
function short(value: number): string {
  return value < 10 ? String(Number(value.toPrecision(2))) : String(Math.round(value));
}

describe('docs/scale.md', () => {
  const rows = rowsOf('docs/scale.md', 'URLs');

  it('has a row for each power of ten from a million', () => {
    expect(rows.map(([urls]) => urls)).toEqual(['10^6', '10^7', '10^8', '10^9', '10^10', '10^11']);
  });

  it.each(rows)(
    'has the memory and segments that the service plans for %s URLs',
    (urls, masters, ...figures) => {
      const [base, exponent] = urls.split('^').map(Number);
      const capacity = (base ?? NaN) ** (exponent ?? NaN);
      const nodes = Number(masters);
      const [plain, ageing] = ([4, 8] as const).map((cellBits) =>
        planGeometry({ capacity, errorRate: DEFAULT_ERROR_RATE, cellBits }, redisSegmentation(nodes)),
      );
      const bytes = [plain!, ageing!].map(filterBytes) as [number, number];
      expect(figures).toEqual([
        ...bytes.map((one) => `${short(one / GIB)} GiB`),
        `${short(Math.max(...bytes) / nodes / GIB)} GiB`,
        String(plain?.segments),
      ]);
    },
  );
});
