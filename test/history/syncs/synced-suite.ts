import { describe, expect, it } from '@jest/globals';
import { SEED } from '../../support/random.js';
import { checkHistory } from '../checker.js';
import type { Run } from '../history-suite.js';
import { run } from '../run.js';
import { exercisedText, summary } from '../summary.js';
import { violationText } from '../text.js';
import { SYNCED_RULES } from './synced-judge.js';

/** A fixed choice of operations and faults, unless SEED asks for another. */
const CHOSEN = process.env['SEED'] === undefined ? 2_029 : SEED;
/**
 * Clients work for this long, and until each fault has struck and each set was synced several times, even on a slow
 * machine.
 */
const SECONDS = 4;
const CRAWLERS = 3;
/** Each restart or failover takes seconds, and longer on a busy machine. */
const TIMEOUT_MS = 300_000;

/** Tests synced sets, one of which ages, on one kind of system. */
export function syncedSuite({ store, start, faults, losses }: Run): void {
  describe(`the history of synced sets on ${store}, while faults strike`, () => {
    it(
      `keeps every rule, and exercises each (seed ${CHOSEN})`,
      async () => {
        const system = await start();
        try {
          const clients = { clients: 0, workers: 0, crawlers: CRAWLERS };
          const history = await run(system, { seed: CHOSEN, seconds: SECONDS, ...clients, faults });
          const report = checkHistory(history, losses);
          const { synced } = report;
          if (!synced) throw new Error('no sets were synced');
          console.log(`${summary(history, report)}\n${exercisedText(synced)}`);
          const told = report.violations.map((violation) => violationText(violation, history.faults));
          expect(told).toEqual([]);
          expect(SYNCED_RULES.filter((rule) => !synced.exercised.get(rule))).toEqual([]);
          expect(new Set(history.faults.map(({ kind }) => kind))).toEqual(new Set(faults));
        } finally {
          await system.stop();
        }
      },
      TIMEOUT_MS,
    );
  });
}
