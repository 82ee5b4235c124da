import { isDeepStrictEqual } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { made } from '../contract/calls.js';
import { type Command, type Fault, type Outcome, Trial } from './saga-trial.js';
import { type Call, SAGAS } from './sagas.js';

/** Results of calls that may have had no effect. */
const REFUSED: readonly unknown[] = [undefined, 'STORE_UNAVAILABLE', 'STORE_FULL'];

/** The commands that create or delete one Redis key. */
const ONE_KEY = new Set(['hset', 'unlink', 'zadd']);
const STRIKES_A_RUN = 4;

/** The outcomes after an undisturbed change, and without the change. */
interface Clean {
  readonly done: Outcome;
  readonly undone: Outcome;
}

/**
 * The commands at which a fault strikes, by number, and one after the last command. Runs of equal commands create and
 * delete the keys of segments, each command one key. So in a run, a fault strikes only at the first two commands, the
 * last, and the middle one, where a deletion goes on to the second segment. If a fault lasts until the call ends, it has
 * the same effect at a command that reads as at the next one. So without `atReads`, no fault strikes at reads.
 */
function strikesOf(commands: readonly Command[], atReads: boolean): number[] {
  const strikes: number[] = [];
  for (let first = 0, next = 0; first < commands.length; first = next) {
    while (next < commands.length && commands[next]!.name === commands[first]!.name) next++;
    const isRun = ONE_KEY.has(commands[first]!.name) && next - first > STRIKES_A_RUN;
    const run = Array.from({ length: next - first }, (_, n) => first + n);
    strikes.push(...(isRun ? [first, first + 1, (first + next) >> 1, next - 1] : run));
  }
  return [...strikes.filter((at) => atReads || commands[at]!.mayWrite), commands.length];
}

/**
 * A fault strikes at each of a change's commands. Then comes the next call, a different one each time. The call's
 * answer and the state of Redis must equal those after the undisturbed change, or those without the change. If the
 * change returned, it must have been made.
 */
export function sagaSuite(faults: Readonly<Record<string, Fault>>, { atReads = false } = {}): void {
  let trial: Trial;
  beforeAll(async () => {
    trial = await Trial.start();
  });
  afterEach(() => trial.dropAll());
  afterAll(() => trial.stop());

  describe.each(SAGAS)('$name', (saga) => {
    const nexts: readonly [name: string, Call][] = Object.entries({ repeat: saga.run, ...saga.next });
    const clean: Clean[] = [];
    let commands: readonly Command[] = [];
    /** What the undisturbed change returned, and the state after it. */
    let answer: unknown;
    let after: object;

    const operationOf = (next: Call) => (next === saga.run ? trial.operation : made());

    beforeAll(async () => {
      const { scene } = await trial.prepare(saga);
      ({ commands, answer } = await trial.measure((store, operation) => saga.run(store, scene, operation)));
      after = await trial.stateOf(scene.name);
      const changed = await trial.dump();
      const dones: Outcome[] = [];
      for (const [, next] of nexts) {
        await trial.restore(changed);
        dones.push(await trial.finish(scene, next, operationOf(next)));
        // A disturbed change must lead to the same keys and entries, so they can be dropped in the same way.
        await trial.dropAll();
      }
      for (const [n, [, next]] of nexts.entries()) {
        await trial.prepare(saga);
        const undone = await trial.finish(scene, next, operationOf(next));
        await trial.dropAll();
        const done = dones[n]!;
        // No filter is left busy or damaged.
        expect([...done.contents, ...undone.contents].filter((one) => typeof one === 'string')).toEqual([]);
        clean.push({ done, undone });
      }
      expect(REFUSED).not.toContain(answer);
    });

    it.each(Object.entries(faults))('%s at one of its commands', async (_, fault) => {
      for (const [n, command] of strikesOf(commands, atReads).entries()) {
        const which = (n + Math.floor(n / nexts.length)) % nexts.length;
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
        // The change was abandoned, and a repeat would get the same answer.
        if (isAbandoned) continue;
        const isRefused = REFUSED.includes(told);
        if (!isRefused) expect([command, told]).toEqual([command, answer]);
        const outcome = await trial.finish(scene, next, operationOf(next));
        if (isRefused && isDeepStrictEqual(outcome, undone)) continue;
        expect([command, told, name, outcome]).toEqual([command, told, name, done]);
      }
    });
  });
}
