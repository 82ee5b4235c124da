import type { Metric, Registry } from 'prom-client';

/** Upper bounds in seconds. A call on the embedded store takes 0.1 ms, and a batch of 1,000 some milliseconds. */
const BUCKETS = [
  ...[0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1],
  ...[0.25, 0.5, 1, 2.5, 5, 10],
];

interface Timing {
  /** One value for each of the labels, in the same order. */
  readonly values: readonly string[];
  /** Observations in each bucket, the last one without an upper bound. */
  readonly counts: number[];
  sum: number;
}

export interface TimingsOptions {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
  readonly registry: Registry;
}

/**
 * A histogram of durations. The library's own sorts and joins all labels for each observation, which takes four times
 * as long. Several such histograms observe each request.
 */
export class Timings {
  /** Timings by the joined label values. */
  private readonly timings = new Map<string, Timing>();

  constructor(private readonly options: TimingsOptions) {
    // The registry calls only `get`, but its types want one of the library's classes.
    options.registry.registerMetric(this as unknown as Metric);
  }

  get name(): string {
    return this.options.name;
  }

  observe(seconds: number, ...values: string[]): void {
    const key = values.length === 1 ? (values[0] as string) : values.join('\n');
    let timing = this.timings.get(key);
    if (!timing) {
      timing = { values, counts: new Array<number>(BUCKETS.length + 1).fill(0), sum: 0 };
      this.timings.set(key, timing);
    }
    let bucket = 0;
    while (bucket < BUCKETS.length && seconds > (BUCKETS[bucket] as number)) bucket++;
    (timing.counts[bucket] as number)++;
    timing.sum += seconds;
  }

  /** For the registry. */
  async get() {
    const { name, help } = this.options;
    return {
      name,
      help,
      type: 'histogram',
      values: [...this.timings.values()].flatMap((timing) => this.rows(timing)),
    };
  }

  private rows({ values, counts, sum }: Timing) {
    const { name, labels: names } = this.options;
    const labels = Object.fromEntries(names.map((label, n) => [label, values[n] as string]));
    let count = 0;
    const buckets = counts.map((inBucket, n) => {
      count += inBucket;
      const le = n < BUCKETS.length ? String(BUCKETS[n]) : '+Inf';
      return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: count };
    });
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels, value: sum },
      { metricName: `${name}_count`, labels, value: count },
    ];
  }
}
