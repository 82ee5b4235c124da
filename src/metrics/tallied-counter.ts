import type { Counter } from 'prom-client';

/** One value for each label name of the counter, in the same order. */
type Values = readonly (string | number)[];

interface Tally {
  readonly values: Values;
  count: number;
}

/**
 * Collects counts for a counter of the library, and adds them when it is read. For each count, the library builds a
 * text of all labels, which would take a twentieth of the CPU time of a small request.
 */
export class TalliedCounter {
  /** Tallies by the joined label values. */
  private readonly tallies = new Map<string, Tally>();

  constructor(private readonly counter: Counter) {}

  add(count: number, ...values: Values): void {
    const key = values.join('\n');
    const tally = this.tallies.get(key);
    if (tally) tally.count += count;
    else this.tallies.set(key, { values, count });
  }

  /** Adds the collected counts to the library's counter. */
  flush(): void {
    for (const tally of this.tallies.values()) {
      this.counter.labels(...tally.values.map(String)).inc(tally.count);
      tally.count = 0;
    }
  }
}
