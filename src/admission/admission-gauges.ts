import { Counter, Gauge, type Registry } from 'prom-client';
import { BOUNDED, type RequestKind } from './bounds.js';
import type { InFlight } from './in-flight.js';

const REQUEST_KINDS: readonly RequestKind[] = ['requests', 'streams', 'probes'];

/** Registers gauges for requests and bytes in flight and a counter for refusals. Each scrape reads them. */
export function registerAdmissionGauges(inFlight: InFlight, registry: Registry): void {
  const registers = [registry];
  new Gauge({
    name: 'unseen_in_flight_requests',
    help: 'Requests in flight by class; the scrape itself is a probe',
    labelNames: ['kind'],
    registers,
    collect() {
      for (const kind of REQUEST_KINDS) this.set({ kind }, inFlight.count(kind));
    },
  });
  new Gauge({
    name: 'unseen_in_flight_bytes',
    help: 'Bytes of request bodies held by requests in flight',
    registers,
    collect() {
      this.set(inFlight.count('bytes'));
    },
  });
  new Gauge({
    name: 'unseen_unread_answer_bytes',
    help: 'Bytes of answers that wait in memory until clients read them',
    registers,
    collect() {
      this.set(inFlight.count('answers'));
    },
  });
  new Counter({
    name: 'unseen_refused_total',
    help: 'Requests refused with OVERLOADED, by limit',
    labelNames: ['bound'],
    registers,
    collect() {
      this.reset();
      for (const bound of BOUNDED) this.inc({ bound }, inFlight.refused(bound));
    },
  });
}
