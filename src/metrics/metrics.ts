import { Inject, Injectable } from '@nestjs/common';
import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';
import { SYNC_OUTCOMES } from '#store';
import { Config } from '../config/config.js';
import { ERROR_CODES, type ErrorCode } from '../errors/error-codes.js';
import { Clock } from '../store/clock.token.js';
import { StoreEvents } from '../store/store-events.js';
import { Store } from '../store/store.token.js';
import { VERSION } from '../version.js';
import { BusyFilters, type Used } from './busy-filters.js';
import { FilterGauges } from './filter-gauges.js';
import { FilterVerdicts } from './filter-verdicts.js';
import { TalliedCounter } from './tallied-counter.js';
import { Timings } from './timings.js';

/**
 * The service's own metrics, in the Prometheus text format. The registry belongs to the application, not the process.
 */
@Injectable()
export class Metrics {
  /** Other parts of the service register their metrics here. */
  readonly registry = new Registry();
  private readonly requests = new TalliedCounter({
    name: 'unseen_http_requests_total',
    help: 'Requests that the service answered',
    labelNames: ['method', 'route', 'status'],
    registers: [this.registry],
  });
  private readonly durations = new Timings({
    name: 'unseen_http_request_duration_seconds',
    help: 'Time from the request line to the last byte of the answer',
    labels: ['method', 'route'],
    registry: this.registry,
  });
  private readonly errors = new Counter({
    name: 'unseen_errors_total',
    help: 'Errors by code',
    labelNames: ['code'],
    registers: [this.registry],
  });
  private readonly items = new TalliedCounter({
    name: 'unseen_items_total',
    help: 'Items and URLs by verb and verdict',
    labelNames: ['verb', 'verdict'],
    registers: [this.registry],
  });
  private readonly verdicts: FilterVerdicts;
  private readonly filters: FilterGauges;

  constructor(
    @Inject(Store) store: Store,
    @Inject(Config) config: Pick<Config, 'store'>,
    @Inject(Clock) clock: Clock,
    events: StoreEvents,
  ) {
    const { registry } = this;
    const filters = new BusyFilters(clock);
    this.verdicts = new FilterVerdicts(filters, registry);
    this.filters = new FilterGauges({ store, filters, clock, registry });
    // A counter that begins with its first event hides this event from "increase".
    for (const code of ERROR_CODES) this.errors.inc({ code }, 0);
    this.watch(events);
    new Gauge({
      name: 'unseen_build_info',
      help: 'Always 1. The version of the service, and the kind of store that it uses',
      labelNames: ['version', 'store'],
      registers: [registry],
    }).set({ version: VERSION, store: config.store }, 1);
    collectDefaultMetrics({ register: registry });
  }

  countRequest(method: string, route: string, status: number, seconds: number): void {
    this.requests.add(1, method, route, status);
    this.durations.observe(seconds, method, route);
  }

  countItems(used: Used, verb: string, counts: Readonly<Record<string, number>>): void {
    for (const verdict in counts) this.items.add(counts[verdict] as number, verb, verdict);
    this.verdicts.count(used, verb, counts);
  }

  countError(code: ErrorCode): void {
    this.errors.inc({ code });
  }

  /** All metrics as text. Figures from the store are at most FRESH_MS old, or missing while it is unavailable. */
  async scrape(): Promise<string> {
    await this.filters.refresh();
    return this.registry.metrics();
  }

  get contentType(): string {
    return this.registry.contentType;
  }

  private watch(events: StoreEvents): void {
    const { registry } = this;
    const labels = ['verb'];
    const calls = new Timings({
      name: 'unseen_store_call_duration_seconds',
      help: 'Time of a call on the store, including failed calls',
      labels,
      registry,
    });
    const scripts = new Timings({
      name: 'unseen_redis_script_duration_seconds',
      help: 'Time from sending a script to Redis until its reply, including REDIS_WAIT_REPLICAS; the embedded store has none',
      labels,
      registry,
    });
    const syncs = new Counter({
      name: 'unseen_syncs_ended_total',
      help: 'Syncs that this instance committed, or abandoned for a reason, by outcome',
      labelNames: ['outcome'],
      registers: [registry],
    });
    for (const outcome of SYNC_OUTCOMES) syncs.inc({ outcome }, 0);
    events.listener = {
      called: (verb, ms) => calls.observe(ms / 1_000, verb),
      ranScript: (verb, ms) => scripts.observe(ms / 1_000, verb),
      endedSync: (outcome) => syncs.inc({ outcome }),
    };
  }
}
