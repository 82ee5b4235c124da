import { describe, expect, it } from '@jest/globals';
import { SEED } from '../support/random.js';
import { checkHistory } from './checker.js';
import { type Losses } from './rewind.js';
import { run } from './run.js';
import { summary } from './summary.js';
import type { System } from './system.js';
import { violationText } from './text.js';

export interface Run {
  readonly store: string;
  readonly start: () => Promise<System>;
  readonly faults: readonly string[];
  /** Whether the queue has limits for each host. By default it doesn't. */
  readonly byHost?: boolean;
  /** The data that a failover may lose. By default, none. */
  readonly losses?: Losses;
}

/**
 * How long clients work. They continue until every kind of fault has struck and they have made this many operations,
 * even on a slow machine.
 */
const SECONDS = 4;
const OPERATIONS = 500;
const CLIENTS = 12;
const WORKERS = 4;
/** Each restart or failover takes seconds, and longer on a busy machine. */
const TIMEOUT_MS = 300_000;

/** Tests one kind of system. Each kind has its own file, so that they run in parallel. */
export function historySuite({ store, start, faults, byHost = false, losses }: Run): void {
  describe(`the history of services on ${store}, while faults strike`, () => {
    it(
      `is linearizable for items, each operation once, and keeps the queue’s rules (seed ${SEED})`,
      async () => {
        const system = await start();
        try {
          const options = {
            seconds: SECONDS,
            operations: OPERATIONS,
            clients: CLIENTS,
            workers: WORKERS,
            faults,
            byHost,
          };
          const history = await run(system, { seed: SEED, ...options });
          const report = checkHistory(history, losses);
          console.log(summary(history, report));
          const told = report.violations.map((violation) => violationText(violation, history.faults));
          expect(told).toEqual([]);
          expect(report.undecided).toBe(0);
          expect(new Set(history.faults.map(({ kind }) => kind))).toEqual(new Set(faults));
          expect(report.entriesChecked).toBeGreaterThan(50);
          expect(history.attempts.filter(({ outcome }) => outcome === 'ok').length).toBeGreaterThan(200);
        } finally {
          await system.stop();
        }
      },
      TIMEOUT_MS,
    );
  });
}
