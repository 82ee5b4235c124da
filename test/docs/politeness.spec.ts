import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { filterBytes, planLayers } from '#bloom';

const PAGE = readFileSync('docs/politeness.md', 'utf8').replaceAll(/\s+/g, ' ');
/** The default error rate. */
const ERROR_RATE = 1e-4;
const CAPACITY = 1_000_000;
const SEGMENTATION = { maxSegmentBytes: 2 ** 26, minSegments: 1, minSegmentBytes: 1 } as const;

/**
 * The memory that a set needs when it is filled to its capacity on this many masters and one host has the share
 * `ofHost` of its URLs. The other hosts are spread evenly over the masters, and each master's run of segments has an
 * equal part of each layer.
 */
function bytesOn(masters: number, ofHost: number): number {
  const sizing = { capacity: CAPACITY, errorRate: ERROR_RATE, cellBits: 4 } as const;
  const fullest = CAPACITY * (ofHost + (1 - ofHost) / masters);
  let room = 0;
  let bytes = 0;
  for (const { capacity, geometry } of planLayers(sizing, { ...SEGMENTATION, spread: masters }, Infinity)) {
    if (room >= fullest) break;
    room += capacity / masters;
    bytes += filterBytes(geometry);
  }
  expect(room).toBeGreaterThanOrEqual(fullest);
  return bytes;
}

describe('docs/politeness.md', () => {
  it('has the memory of a set with 90 % of its URLs in one host', () => {
    const [, three = '', six = ''] =
      /90 % of the URLs from one host, a full set .* takes ([\d.]+) times as much memory on three masters, and ([\d.]+) times as much on six/.exec(
        PAGE,
      ) ?? [];
    const single = bytesOn(1, 0.9);
    expect((bytesOn(3, 0.9) / single).toFixed(1)).toBe(three);
    expect((bytesOn(6, 0.9) / single).toFixed(1)).toBe(six);
  });
});
