import { isDeepStrictEqual } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { made } from '../contract/calls.js';
import { type Fault, type Outcome, Trial } from './saga-trial.js';
import { type Call, SAGAS } from './sagas.js';

/** Refusals of a call that has perhaps done nothing. */
const REFUSED: readonly unknown[] = [undefined, 'STORE_UNAVAILABLE', 'STORE_FULL'];

/** What comes of a change that is not disturbed, and of none. */
interface Clean {
  readonly done: Outcome;
  readonly undone: Outcome;
}

/**
 * Has a fault strike at each command of each change. Then the next call comes, another one in turn: what it answers, and
 * what is in Redis, must be as behind the undisturbed change, or as if there had been none. A change that was answered must
 * have been done.
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
    /** Of the undisturbed change, with the state behind it. */
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
        const isGivenUp = saga.givenUp !== undefined && told === saga.givenUp;
        if (isGivenUp || (told === 'STORE_FULL' && saga.undone)) {
          const state = await trial.stateOf(scene.name);
          const isWhole = [...before, after].some((one) => isDeepStrictEqual(one, state));
          if (!isWhole) expect([command, told, state]).toEqual([command, told, before[0]]);
        }
        if (isGivenUp) {
          // A repeat answers the same.
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
