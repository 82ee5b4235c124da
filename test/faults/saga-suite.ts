import { isDeepStrictEqual } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { made } from '../contract/calls.js';
import { type Fault, type Outcome, Trial } from './saga-trial.js';
import { type Call, SAGAS } from './sagas.js';

/** Results of a call that may have had no effect. */
const REFUSED: readonly unknown[] = [undefined, 'STORE_UNAVAILABLE', 'STORE_FULL'];

/** The outcomes after an undisturbed change, and without the change. */
interface Clean {
  readonly done: Outcome;
  readonly undone: Outcome;
}

/**
 * A fault strikes at each command of each change. Then the next call comes, a different one each time. Its answer and
 * the state of Redis must equal those after the undisturbed change, or those without the change. An answered change
 * must have been made.
 */
export function sagaSuite(faults: Readonly<Record<string, Fault>>): void {
  let trial: Trial;
  beforeAll(async () => {
    trial = await Trial.start();
  });
  afterEach(() => trial.dropAll());
  afterAll(() => trial.stop());

  describe.each(SAGAS)('$name', (saga) => {
    const nexts: readonly [name: string, Call][] = Object.entries({ repeat: saga.run, ...saga.next });
    const clean: Clean[] = [];
    let commands = 0;
    /** The answer of the undisturbed change, and the state after it. */
    let answer: unknown;
    let after: object;

    const operationOf = (next: Call) => (next === saga.run ? trial.operation : made());

    beforeAll(async () => {
      for (const [, next] of nexts) {
        const { scene } = await trial.prepare(saga);
        ({ commands, answer } = await trial.measure((store, operation) => saga.run(store, scene, operation)));
        after = await trial.stateOf(scene.name);
        const done = await trial.finish(scene, next, operationOf(next));
        const untouched = await trial.prepare(saga);
        const undone = await trial.finish(untouched.scene, next, operationOf(next));
        // No filter is left busy or damaged.
        expect([...done.contents, ...undone.contents].filter((one) => typeof one === 'string')).toEqual([]);
        clean.push({ done, undone });
      }
      expect(REFUSED).not.toContain(answer);
    });

    it.each(Object.entries(faults))('%s at any of its commands', async (_, fault) => {
      for (let command = 0; command <= commands; command++) {
        const which = (command + Math.floor(command / nexts.length)) % nexts.length;
        const [name, next] = nexts[which]!;
        const { done, undone } = clean[which]!;
        const { scene, before } = await trial.prepare(saga);
        const told = await trial.disturbed(fault, command, (store, operation) =>
          saga.run(store, scene, operation),
        );
        const isAbandoned = saga.abandoned !== undefined && told === saga.abandoned;
        if (isAbandoned || (told === 'STORE_FULL' && saga.undone)) {
          const state = await trial.stateOf(scene.name);
          const isWhole = [...before, after].some((one) => isDeepStrictEqual(one, state));
          if (!isWhole) expect([command, told, state]).toEqual([command, told, before[0]]);
        }
        if (isAbandoned) {
          // The change was abandoned, and a repeat would answer the same.
          await trial.dropAll();
          continue;
        }
        const isRefused = REFUSED.includes(told);
        if (!isRefused) expect([command, told]).toEqual([command, answer]);
        const outcome = await trial.finish(scene, next, operationOf(next));
        if (isRefused && isDeepStrictEqual(outcome, undone)) continue;
        expect([command, told, name, outcome]).toEqual([command, told, name, done]);
      }
    });
  });
}
