import { isLost, type Described } from './sets.js';

/** Rates per second, averaged over the time between two polls. */
export interface Rates {
  readonly fresh: number;
  readonly seen: number;
  readonly forgotten: number;
}

interface Look {
  readonly atMs: number;
  readonly generation: string;
  readonly added: number;
  readonly duplicate: number;
  readonly removed: number;
}

/** Computes rates from the differences between two polls. */
export class RateMeter {
  private looks = new Map<string, Look>();
  private rates = new Map<string, Rates>();

  /** Call it with all sets and filters, after each poll. */
  look(all: Iterable<Described>, atMs: number): void {
    const looks = new Map<string, Look>();
    const rates = new Map<string, Rates>();
    for (const described of all) {
      if (isLost(described)) continue;
      const { name, generation, added, duplicate, removed } = described;
      const now = { atMs, generation, added, duplicate, removed };
      looks.set(name, now);
      const before = this.looks.get(name);
      // A filter that was cleared or re-created has a new generation, so its rates start again.
      if (before?.generation === generation) rates.set(name, ratesBetween(before, now));
    }
    this.looks = looks;
    this.rates = rates;
  }

  /** undefined before the second poll. */
  of(name: string): Rates | undefined {
    return this.rates.get(name);
  }
}

function ratesBetween(before: Look, now: Look): Rates {
  const seconds = Math.max(0.001, (now.atMs - before.atMs) / 1_000);
  // Never negative: counts may go back a little if another instance answers that is slightly behind.
  const perSecond = (from: number, to: number): number => Math.max(0, to - from) / seconds;
  return {
    fresh: perSecond(before.added, now.added),
    seen: perSecond(before.duplicate, now.duplicate),
    forgotten: perSecond(before.removed, now.removed),
  };
}
