import { Counter, type Registry } from 'prom-client';
import { SPAN_OUTCOMES, type Tracing } from '../tracing/tracing.js';

/** Counts the spans of traces. All counts are 0 if no traces are sent. */
export function registerSpanCounter(tracing: Tracing | undefined, registry: Registry): void {
  new Counter({
    name: 'unseen_trace_spans_total',
    help: 'Spans of traces by outcome: sent to the collector, or lost for a reason',
    labelNames: ['outcome'],
    registers: [registry],
    collect() {
      this.reset();
      for (const outcome of SPAN_OUTCOMES) this.inc({ outcome }, tracing?.spans[outcome] ?? 0);
    },
  });
}
