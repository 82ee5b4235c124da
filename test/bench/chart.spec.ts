import { describe, expect, it } from '@jest/globals';
import { barChart, type Bar } from './chart.js';

const bar = (value: number, changes: Partial<Bar> = {}): Bar => ({
  ...{ label: `bar ${value}`, value, note: '', own: false },
  ...changes,
});

/** Widths of the bars in drawing order: all rectangles except the card. */
function widths(svg: string): number[] {
  return [...svg.matchAll(/<rect x="200" y="\d+" width="([\d.]+)"/g)].map(([, width]) => Number(width));
}

describe('the chart', () => {
  it('draws a bar for each value, with the same length for every decade', () => {
    const [one = NaN, ten = NaN, hundred = NaN] = widths(barChart('t', 'µs', [bar(1), bar(10), bar(100)]));
    expect(one).toBe(1);
    expect(hundred).toBeCloseTo(2 * ten, 0);
  });

  it('has room for values between decades, and for a single value', () => {
    const [low = NaN, high = NaN] = widths(barChart('t', 'µs', [bar(0.4), bar(30)]));
    expect(low).toBeGreaterThan(1);
    expect(high).toBeGreaterThan(low);
    expect(high).toBeLessThanOrEqual(310);
    expect(widths(barChart('t', 'µs', [bar(1)]))).toHaveLength(1);
  });

  it('writes labels, values and notes as escaped text', () => {
    const svg = barChart('a & b', 'µs', [bar(1.2345, { label: '<script>', note: '"x"', own: true })]);
    expect(svg).toContain('<title>a &amp; b</title>');
    expect(svg).toContain('&lt;script&gt;</text>');
    expect(svg).toContain('1.23 · &quot;x&quot;</text>');
    expect(svg).not.toContain('<script>');
  });

  it('has its own background, for light and dark pages', () => {
    expect(barChart('t', 'µs', [bar(1)])).toMatch(/<rect x="0.5" y="0.5" .*fill="#ffffff"/);
  });

  it.each([[[]], [[0]], [[-1, 2]], [[NaN]], [[Infinity]]])('refuses values %j', (values) => {
    expect(() =>
      barChart(
        't',
        'µs',
        values.map((value) => bar(value)),
      ),
    ).toThrow(RangeError);
  });
});
