import { Counter, Gauge, type Registry } from 'prom-client';
import type { Bounded, InFlight } from './in-flight.js';

const REQUEST_KINDS: readonly Bounded[] = ['requests', 'streams', 'probes'];

/** What is in flight, the bounds it is held to, and what they have refused, as of each scrape. */
export function registerOverloadGauges(inFlight: InFlight, registry: Registry): void {
  const registers = [registry];
  new Gauge({
    name: 'unseen_in_flight_requests',
    help: 'Requests in flight, by what they are counted as; the scrape itself is a probe',
    labelNames: ['kind'],
    registers,
    collect() {
      for (const kind of REQUEST_KINDS) this.set({ kind }, inFlight.count(kind));
    },
  });
  new Gauge({
    name: 'unseen_in_flight_bytes',
    help: 'Bytes of bodies that requests in flight hold or have announced',
    registers,
    collect() {
      this.set(inFlight.count('bytes'));
    },
  });
  new Counter({
    name: 'unseen_refused_total',
    help: 'Requests answered OVERLOADED, by the bound that was reached',
    labelNames: ['bound'],
    registers,
    collect() {
      this.reset();
      for (const bound of [...REQUEST_KINDS, 'bytes' as const]) this.inc({ bound }, inFlight.refused(bound));
    },
  });
}
