import { describe, expect, it } from '@jest/globals';
import {
  ABSENT,
  becameSaturated,
  BITS,
  COUNTERS,
  crossedZero,
  removeCounters,
  smallestCounter,
} from './packed-cells.js';

const CELLS = 64;
const K = 5;

/** A seeded generator (mulberry32). */
function generator(seed: number): (n: number) => number {
  let state = seed;
  return (n) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * n);
  };
}

/** K distinct cells in one of the 16-cell pages. */
function draw(below: (n: number) => number): { base: number; cell: Uint16Array } {
  const chosen = new Set<number>();
  while (chosen.size < K) chosen.add(below(16));
  return { base: below(CELLS / 16) * 16, cell: Uint16Array.from(chosen).sort() };
}

function counterOf(bytes: Uint8Array, cell: number): number {
  const byte = bytes[Math.floor(cell / 2)] as number;
  return cell % 2 === 0 ? Math.floor(byte / 16) : byte % 16;
}

describe('counters', () => {
  it('behave like plain numbers that stick at 15', () => {
    const below = generator(1);
    const bytes = new Uint8Array(CELLS / 2);
    const model = new Array<number>(CELLS).fill(0);
    for (let step = 0; step < 4_000; step++) {
      const { base, cell } = draw(below);
      const at = [...cell].map((c) => base + c);
      const before = at.map((c) => model[c] as number);
      // Alternates long runs of mostly adding and mostly removing, so that the counters reach both limits.
      if (below(10) < (Math.floor(step / 400) % 2 === 0 ? 8 : 2)) {
        for (const c of at) model[c] = Math.min(15, (model[c] as number) + 1);
        const packed = COUNTERS.add(bytes, base, cell, 0, K);
        expect(crossedZero(packed)).toBe(before.filter((n) => n === 0).length);
        expect(becameSaturated(packed)).toBe(before.filter((n) => n === 14).length);
        expect(packed >> 16).toBe(before.filter((n) => n < 15).length);
      } else if (before.includes(0)) {
        expect(removeCounters(bytes, base, cell, 0, K)).toBe(ABSENT);
      } else {
        for (const c of at) if (model[c] !== 15) model[c] = (model[c] as number) - 1;
        const packed = removeCounters(bytes, base, cell, 0, K);
        expect(crossedZero(packed)).toBe(before.filter((n) => n === 1).length);
        expect(packed >> 16).toBe(before.filter((n) => n < 15).length);
      }
      const now = at.map((c) => model[c] as number);
      expect(COUNTERS.contains(bytes, base, cell, 0, K)).toBe(!now.includes(0));
      expect(smallestCounter(bytes, base, cell, 0, K)).toBe(Math.min(...now));
    }
    expect(Array.from({ length: CELLS }, (_, c) => counterOf(bytes, c))).toEqual(model);
    expect(model).toContain(15);
  });

  it('stay unchanged if all are at 15, or if one is zero', () => {
    const cell = Uint16Array.of(0, 1, 2, 3, 4);
    const full = new Uint8Array(4).fill(0xff);
    expect(COUNTERS.add(full, 0, cell, 0, K)).toBe(0);
    expect(removeCounters(full, 0, cell, 0, K)).toBe(0);
    expect([...full]).toEqual([0xff, 0xff, 0xff, 0xff]);
    const gap = Uint8Array.of(0x11, 0x10, 0x11, 0x11);
    expect(removeCounters(gap, 0, cell, 0, K)).toBe(ABSENT);
    expect([...gap]).toEqual([0x11, 0x10, 0x11, 0x11]);
  });

  it('have the layout of BITFIELD u4: even cells in the high nibble', () => {
    const bytes = new Uint8Array(2);
    COUNTERS.add(bytes, 0, Uint16Array.of(0, 3), 0, 2);
    expect([...bytes]).toEqual([0x10, 0x01]);
  });
});

describe('bits', () => {
  it('have the layout of SETBIT: cell 0 is the highest bit of the first byte', () => {
    const bytes = new Uint8Array(2);
    expect(crossedZero(BITS.add(bytes, 0, Uint16Array.of(0, 7, 8), 0, 3))).toBe(3);
    expect([...bytes]).toEqual([0x81, 0x80]);
    expect(BITS.contains(bytes, 0, Uint16Array.of(0, 7, 8), 0, 3)).toBe(true);
    expect(BITS.contains(bytes, 0, Uint16Array.of(0, 7, 9), 0, 3)).toBe(false);
    expect(crossedZero(BITS.add(bytes, 0, Uint16Array.of(0, 7, 9), 0, 3))).toBe(1);
  });

  it('do not saturate', () => {
    const bytes = new Uint8Array(2);
    expect(becameSaturated(BITS.add(bytes, 0, Uint16Array.of(1, 2, 3), 0, 3))).toBe(0);
    expect(BITS.add(bytes, 0, Uint16Array.of(1, 2, 3), 0, 3)).toBe(0);
  });
});
