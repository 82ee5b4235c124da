import { describe, expect, it } from '@jest/globals';
import {
  classicCellsPerItem,
  classicErrorRate,
  itemsPerPageFromFill,
  PagedErrorRate,
  saturationProbability,
} from './error-rate.js';

/** False-positive rates as printed by Fan, Cao, Almeida and Broder ("Summary Cache"): m/n, then k = 1 to 8. */
const LITERATURE: readonly (readonly [number, string])[] = [
  [2, '0.393 0.400'],
  [3, '0.283 0.237 0.253'],
  [4, '0.221 0.155 0.147 0.16'],
  [5, '0.181 0.109 0.092 0.092 0.101'],
  [6, '0.154 0.0804 0.0609 0.0561 0.0578 0.0638'],
  [7, '0.133 0.0618 0.0423 0.0359 0.0347 0.0364'],
  [8, '0.118 0.0489 0.0306 0.024 0.0217 0.0216 0.0229'],
  [9, '0.105 0.0397 0.0228 0.0166 0.0141 0.0133 0.0135 0.0145'],
  [10, '0.0952 0.0329 0.0174 0.0118 0.00943 0.00844 0.00819 0.00846'],
  [11, '0.0869 0.0276 0.0136 0.00864 0.0065 0.00552 0.00513 0.00509'],
  [12, '0.08 0.0236 0.0108 0.00646 0.00459 0.00371 0.00329 0.00314'],
  [13, '0.074 0.0203 0.00875 0.00492 0.00332 0.00255 0.00217 0.00199'],
  [14, '0.0689 0.0177 0.00718 0.00381 0.00244 0.00179 0.00146 0.00129'],
  [15, '0.0645 0.0156 0.00596 0.003 0.00183 0.00128 0.001 0.000852'],
  [16, '0.0606 0.0138 0.005 0.00239 0.00139 0.000935 0.000702 0.000574'],
  [17, '0.0571 0.0123 0.00423 0.00193 0.00107 0.000692 0.000499 0.000394'],
  [18, '0.054 0.0111 0.00362 0.00158 0.000839 0.000519 0.00036 0.000275'],
  [19, '0.0513 0.00998 0.00312 0.0013 0.000663 0.000394 0.000264 0.000194'],
  [20, '0.0488 0.00906 0.0027 0.00108 0.00053 0.000303 0.000196 0.00014'],
  [21, '0.0465 0.00825 0.00236 0.000905 0.000427 0.000236 0.000147 0.000101'],
  [22, '0.0444 0.00755 0.00207 0.000764 0.000347 0.000185 0.000112 7.46e-5'],
  [23, '0.0425 0.00694 0.00183 0.000649 0.000285 0.000147 8.56e-5 5.55e-5'],
  [24, '0.0408 0.00639 0.00162 0.000555 0.000235 0.000117 6.63e-5 4.17e-5'],
  [25, '0.0392 0.00591 0.00145 0.000478 0.000196 9.44e-5 5.18e-5 3.16e-5'],
  [26, '0.0377 0.00548 0.00129 0.000413 0.000164 7.66e-5 4.08e-5 2.42e-5'],
  [27, '0.0364 0.0051 0.00116 0.000359 0.000138 6.26e-5 3.24e-5 1.87e-5'],
  [28, '0.0351 0.00475 0.00105 0.000314 0.000117 5.15e-5 2.59e-5 1.46e-5'],
  [29, '0.0339 0.00444 0.000949 0.000276 9.96e-5 4.26e-5 2.09e-5 1.14e-5'],
  [30, '0.0328 0.00416 0.000862 0.000243 8.53e-5 3.55e-5 1.69e-5 9.01e-6'],
  [31, '0.0317 0.0039 0.000785 0.000215 7.33e-5 2.97e-5 1.38e-5 7.16e-6'],
  [32, '0.0308 0.00367 0.000717 0.000191 6.33e-5 2.5e-5 1.13e-5 5.73e-6'],
];

/**
 * Cells per item with the best k, for pages with PAGE_CELLS cells. `independent` is a published estimate for
 * independently drawn cells, rounded up. This library's distinct cells need slightly fewer.
 */
const PAGE_TABLE = [
  { p: 1e-2, classic: 9.59, pages: [10.74, 10.17, 9.89, 9.75], independent: [11.1, 10.3, 10.0, 9.8] },
  { p: 1e-3, classic: 14.38, pages: [18.69, 16.57, 15.48, 14.95], independent: [19.5, 17.0, 15.7, 15.1] },
  { p: 1e-4, classic: 19.17, pages: [30.19, 24.61, 21.92, 20.56], independent: [32.1, 25.3, 22.2, 20.7] },
  { p: 1e-6, classic: 28.76, pages: [73.64, 48.79, 38.48, 33.63], independent: [81.8, 51.3, 39.6, 34.1] },
];
const PAGE_CELLS = [128, 256, 512, 1024];

/** Half a unit in the last printed digit: "0.0237" is correct to within 0.00005. */
function printedTolerance(printed: string): number {
  const [mantissa, exponent] = printed.split('e') as [string, string?];
  const digits = mantissa.split('.')[1]?.length ?? 0;
  return 0.5 * Math.pow(10, Number(exponent ?? 0) - digits);
}

describe('classic error rate', () => {
  it.each(LITERATURE)('reproduces the literature at m/n = %d', (cellsPerItem, row) => {
    for (const [i, printed] of row.split(' ').entries()) {
      const difference = Math.abs(classicErrorRate(cellsPerItem, i + 1) - Number(printed));
      expect(difference).toBeLessThanOrEqual(printedTolerance(printed));
    }
  });

  it.each(PAGE_TABLE)('needs $classic cells per item for p = $p', ({ p, classic }) => {
    expect(classicCellsPerItem(p)).toBeCloseTo(classic, 2);
  });
});

describe('paged error rate', () => {
  it.each(PAGE_TABLE)('has the known cells per item by page size for p = $p', ({ p, pages, independent }) => {
    for (const [i, pageCells] of PAGE_CELLS.entries()) {
      const loads = Array.from({ length: 24 }, (_, k) => PagedErrorRate.of(pageCells, k + 1).loadFor(p));
      const needed = pageCells / Math.max(...loads);
      expect(needed).toBeCloseTo(pages[i] as number, 2);
      expect(needed).toBeLessThan(independent[i] as number);
      expect(needed).toBeGreaterThan((independent[i] as number) * 0.9);
    }
  });

  it('matches a tiny page worked out by hand', () => {
    // With B = 3 and k = 1, j items leave a given cell uncovered with probability (2/3)^j, so p = 1 - e^(-λ/3).
    const tiny = PagedErrorRate.of(3, 1);
    for (const load of [0.1, 1, 5]) expect(tiny.at(load)).toBeCloseTo(1 - Math.exp(-load / 3), 12);
  });

  it('reuses the tables of a page shape for new error rates', () => {
    expect(PagedErrorRate.of(256, 7)).toBe(PagedErrorRate.of(256, 7));
    expect(PagedErrorRate.of(256, 8)).not.toBe(PagedErrorRate.of(256, 7));
  });

  it('rises with the load from 0 to 1', () => {
    const rate = PagedErrorRate.of(256, 7);
    const rates = [0, 1, 10, 25, 50, 100, 500, 2048, 5000].map((load) => rate.at(load));
    expect(rates).toEqual([...rates].sort((a, b) => a - b));
    expect(rates[0]).toBe(0);
    expect(rates.at(-1)).toBe(1);
  });

  it('approaches the classic rate as pages grow', () => {
    const paged = PagedErrorRate.of(4096, 7).at(4096 / 10);
    expect(paged / classicErrorRate(10, 7)).toBeGreaterThan(1);
    expect(paged / classicErrorRate(10, 7)).toBeLessThan(1.05);
  });
});

describe('items per page, from the share of non-zero cells', () => {
  it('inverts the expected fill', () => {
    const [load, pageCells, k] = [25, 256, 7];
    expect(itemsPerPageFromFill(1 - Math.exp((-load * k) / pageCells), pageCells, k)).toBeCloseTo(load, 9);
    expect(itemsPerPageFromFill(0, pageCells, k)).toBeCloseTo(0);
    expect(itemsPerPageFromFill(1, pageCells, k)).toBe(Infinity);
  });
});

describe('probability of a saturated counter', () => {
  it('is the upper tail of the binomial, summed directly', () => {
    // n items, each of which hits the counter with probability k/m.
    const [n, m, k] = [4_000, 1_000, 2];
    let term = Math.pow(1 - k / m, n);
    let below = 0;
    for (let i = 0; i < 15; i++) {
      below += term;
      term *= (((n - i) / (i + 1)) * (k / m)) / (1 - k / m);
    }
    expect(saturationProbability(n, m, k) / (1 - below)).toBeCloseTo(1, 1);
  });

  it('stays below the bound of Fan et al. at the best load, ln 2 items per counter', () => {
    const probability = saturationProbability(Math.LN2 * 1e6, 1e6, 1);
    expect(probability).toBeGreaterThan(0);
    expect(probability).toBeLessThan(Math.pow((Math.E * Math.LN2) / 15, 15));
    expect(probability).toBeCloseTo(1.6e-15, 15);
  });
});
