import { Inject, Injectable } from '@nestjs/common';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { ErrorCode } from '../errors/error-codes.js';
import { Store } from '../store/store.token.js';
import { FilterGauges } from './filter-gauges.js';
import { TalliedCounter } from './tallied-counter.js';

/** In seconds. A batch of 1,000 takes one or several milliseconds. */
const DURATION_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/**
 * The service's own metrics, in the Prometheus text format. The registry belongs to the application, not the process.
 */
@Injectable()
export class Metrics {
  /** Other parts of the service register their metrics here. */
  readonly registry = new Registry();
  private readonly requests = new TalliedCounter(
    new Counter({
      name: 'unseen_http_requests_total',
      help: 'Requests that the service answered',
      labelNames: ['method', 'route', 'status'],
      registers: [this.registry],
    }),
  );
  private readonly durations = new Histogram({
    name: 'unseen_http_request_duration_seconds',
    help: 'Time from the request line to the last byte of the answer',
    labelNames: ['method', 'route'],
    buckets: DURATION_BUCKETS,
    registers: [this.registry],
  });
  private readonly items = new TalliedCounter(
    new Counter({
      name: 'unseen_items_total',
      help: 'Items and URLs by verb and verdict',
      labelNames: ['verb', 'verdict'],
      registers: [this.registry],
    }),
  );
  private readonly errors = new Counter({
    name: 'unseen_errors_total',
    help: 'Errors by code',
    labelNames: ['code'],
    registers: [this.registry],
  });
  private readonly storeReady = new Gauge({
    name: 'unseen_store_ready',
    help: '1 if the store can serve requests',
    registers: [this.registry],
  });
  private readonly filters: FilterGauges;

  constructor(@Inject(Store) private readonly store: Store) {
    collectDefaultMetrics({ register: this.registry });
    this.filters = new FilterGauges(store, this.registry);
  }

  countRequest(method: string, route: string, status: number, seconds: number): void {
    this.requests.add(1, method, route, status);
    this.durations.observe({ method, route }, seconds);
  }

  countItems(verb: string, counts: Readonly<Record<string, number>>): void {
    for (const verdict in counts) this.items.add(counts[verdict] as number, verb, verdict);
  }

  countError(code: ErrorCode): void {
    this.errors.inc({ code });
  }

  /** All metrics as text. Filter metrics are current, or missing while the store is unavailable. */
  async scrape(): Promise<string> {
    const { ready } = await this.store.readiness();
    this.storeReady.set(ready ? 1 : 0);
    await this.filters.refresh(ready);
    this.requests.flush();
    this.items.flush();
    return this.registry.metrics();
  }

  get contentType(): string {
    return this.registry.contentType;
  }
}
