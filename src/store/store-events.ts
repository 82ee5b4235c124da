import { Injectable } from '@nestjs/common';
import { NO_OBSERVER, type StoreObserver, type SyncOutcome } from '#store';
import { addCall } from '../tracing/trace.js';

/** Learns what the store does, and how long its calls take. */
export interface StoreListener extends StoreObserver {
  /** A call on the store has ended, with an answer or an error, after `ms`. `verb` is one of a fixed number. */
  called(verb: string, ms: number): void;
}

/**
 * Passes events of the store to the metrics, and scripts to the trace of their request. The metrics are created later,
 * because they need the store.
 */
@Injectable()
export class StoreEvents implements StoreListener {
  /** The metrics, once they exist. */
  listener: StoreListener = { ...NO_OBSERVER, called: () => undefined };

  called(verb: string, ms: number): void {
    this.listener.called(verb, ms);
  }

  ranScript(verb: string, ms: number): void {
    addCall(`redis ${verb}`, ms, { 'db.system.name': 'redis', 'db.stored_procedure.name': verb });
    this.listener.ranScript(verb, ms);
  }

  endedSync(outcome: SyncOutcome): void {
    this.listener.endedSync(outcome);
  }
}
