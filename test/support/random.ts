/**
 * The seed of random tests, the same in every run so that no test fails by chance. `SEED=… npm test` tries other seeds.
 */
export const SEED = Number(process.env['SEED'] ?? 20_171_117) | 0;

/** A small seeded generator (mulberry32), good enough to choose test cases and the same on every machine. */
export class Random {
  private state: number;

  constructor(readonly seed: number = SEED) {
    this.state = seed;
  }

  /** A whole number from 0 to 2^32 - 1. */
  word(): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.state ^ (this.state >>> 15), this.state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return (t ^ (t >>> 14)) >>> 0;
  }

  /** A whole number from 0 to n - 1. */
  below(n: number): number {
    return Math.floor((this.word() / 2 ** 32) * n);
  }

  bytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => this.below(256));
  }

  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)] as T;
  }
}
