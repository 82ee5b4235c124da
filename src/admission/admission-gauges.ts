import { Counter, Gauge, type Registry } from 'prom-client';
import { BOUNDED, type RequestKind } from './bounds.js';
import type { ConnectionLimit } from '../http/connection-limit.js';
import type { InFlight } from './in-flight.js';
import type { Turns } from './turns.js';

const REQUEST_KINDS: readonly RequestKind[] = ['requests', 'streams', 'probes'];

/** The parts that limit how much work the service accepts. */
interface Limits {
  readonly inFlight: InFlight;
  readonly turns: Turns;
  readonly connections: ConnectionLimit;
}

/** Registers gauges for the work in progress and its limits, and a counter for refusals. Each scrape reads them. */
export function registerAdmissionGauges({ inFlight, turns, connections }: Limits, registry: Registry): void {
  const registers = [registry];
  const gauge = (name: string, help: string, read: () => number): Gauge =>
    new Gauge({
      name: `unseen_${name}`,
      help,
      registers,
      collect() {
        this.set(read());
      },
    });
  new Gauge({
    name: 'unseen_in_flight_requests',
    help: 'Requests in flight by class; the scrape itself is a probe',
    labelNames: ['kind'],
    registers,
    collect() {
      for (const kind of REQUEST_KINDS) this.set({ kind }, inFlight.count(kind));
    },
  });
  const most = new Gauge({
    name: 'unseen_max_in_flight_requests',
    help: 'Limit on unseen_in_flight_requests',
    labelNames: ['kind'],
    registers,
  });
  for (const kind of REQUEST_KINDS) most.set({ kind }, inFlight.bounds[kind]);
  gauge('in_flight_bytes', 'Bytes of request bodies held by requests in flight', () =>
    inFlight.count('bytes'),
  );
  gauge('unread_answer_bytes', 'Bytes of answers that wait in memory until clients read them', () =>
    inFlight.count('answers'),
  );
  gauge(
    'max_in_flight_bytes',
    'Limit on unseen_in_flight_bytes, and also on unseen_unread_answer_bytes',
    () => inFlight.bounds.bytes,
  );
  gauge(
    'waiting_turns',
    'Requests and commands that wait until the event loop has time to begin them',
    () => turns.waitingCount,
  );
  gauge(
    'connections',
    'Open connections, including those of the Redis protocol',
    () => connections.openCount,
  );
  gauge('max_connections', 'Limit on unseen_connections', () => connections.most);
  new Counter({
    name: 'unseen_refused_requests_total',
    help: 'Requests refused with OVERLOADED, by limit',
    labelNames: ['bound'],
    registers,
    collect() {
      this.reset();
      for (const bound of BOUNDED) this.inc({ bound }, inFlight.refused(bound));
    },
  });
}
