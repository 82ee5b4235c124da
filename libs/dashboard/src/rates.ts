import { isLost, type Described } from './sets.js';

/** What has happened in a second, on the average of the time between two looks. */
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

/** Tells rates by the differences between what was told last and what is told now. */
export class RateMeter {
  private looks = new Map<string, Look>();
  private rates = new Map<string, Rates>();

  /** Call it with everything that there is, each time. */
  look(all: Iterable<Described>, atMs: number): void {
    const looks = new Map<string, Look>();
    const rates = new Map<string, Rates>();
    for (const described of all) {
      if (isLost(described)) continue;
      const { name, generation, added, duplicate, removed } = described;
      const now = { atMs, generation, added, duplicate, removed };
      looks.set(name, now);
      const before = this.looks.get(name);
      // What was cleared or made anew begins anew.
      if (before?.generation === generation) rates.set(name, ratesBetween(before, now));
    }
    this.looks = looks;
    this.rates = rates;
  }

  /** Undefined until it has been looked at twice. */
  of(name: string): Rates | undefined {
    return this.rates.get(name);
  }
}

function ratesBetween(before: Look, now: Look): Rates {
  const seconds = Math.max(0.001, (now.atMs - before.atMs) / 1_000);
  // Another instance may be a moment behind.
  const perSecond = (from: number, to: number): number => Math.max(0, to - from) / seconds;
  return {
    fresh: perSecond(before.added, now.added),
    seen: perSecond(before.duplicate, now.duplicate),
    forgotten: perSecond(before.removed, now.removed),
  };
}
