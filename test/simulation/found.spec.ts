import { describe, expect, it } from '@jest/globals';
import type { FilterSpec } from '#store';
import { runHistory } from './history.js';
import { LONGEST_MS, planOf, type Plan, type Step } from './plan.js';
import { hostsFor, specFor } from './specs.js';
import type { Verb } from './calls.js';

/* Histories that the simulation has found, each as short as possible. */

const SETTLE: Step = { do: 'settle' };
const run = (commits: boolean): Step => ({ do: 'run', commits, full: false });
const TELL: Step = { do: 'tell' };

function call(verb: Verb, items: readonly number[] = [], ms = 1_000): Step {
  return { do: 'call', verb, set: 0, items, number: 3, ms, flag: true, caller: true };
}

/**
 * A history of one visited set whose entries may be leased once. A sweep of its queue starts when one item is
 * forgotten.
 */
function plan(...steps: Step[]): Plan {
  const { limits } = planOf(1);
  return {
    seed: 1,
    limits: { ...limits, maxMarks: 0 },
    sets: [specFor('set-0', 'visited-set', { maxAttempts: 1 })],
    steps,
  };
}

it('a read isn’t refused because of an uncommitted change', async () => {
  const { violation } = await runHistory(plan(call('drop'), run(false), call('check', [1]), SETTLE));
  expect(violation).toBeUndefined();
});

it('a change isn’t refused because of another uncommitted change', async () => {
  const { violation } = await runHistory(plan(call('drop'), call('add', [1]), run(false), TELL, SETTLE));
  expect(violation).toBeUndefined();
});

it('dead letters made by a lease that finds nothing survive a kill', async () => {
  const kill: Step = { do: 'restart', kill: true };
  const dying: Step[] = [SETTLE, call('lease'), SETTLE, { do: 'time', ms: 5_000 }, call('lease'), SETTLE];
  const { violation } = await runHistory(
    plan(
      call('discover', [1]),
      ...dying,
      kill,
      call('discover', [2]),
      ...dying,
      call('dead-letters'),
      SETTLE,
    ),
  );
  expect(violation).toBeUndefined();
});

it('a set survives a kill after a sweep has emptied its queue and a lease has found nothing', async () => {
  const { violation } = await runHistory(
    plan(
      call('add', [2]),
      call('discover', [1]),
      call('lease'),
      call('remove', [2]),
      run(true),
      call('remove', [1]),
      SETTLE,
      call('lease'),
      SETTLE,
      { do: 'restart', kill: true },
      call('check', [1, 2]),
      SETTLE,
    ),
  );
  expect(violation).toBeUndefined();
});

it('the URLs that a sync kept count towards maxUrls when another sync opens right after its commit', async () => {
  const { violation } = await runHistory({
    ...plan(
      call('open-sync'),
      SETTLE,
      call('discover', [1, 4]),
      SETTLE,
      call('commit-sync'),
      run(true),
      TELL,
      call('open'),
      TELL,
      call('open-sync'),
      SETTLE,
      call('hosts'),
      SETTLE,
    ),
    sets: [hostsFor('set-0', { maxUrls: 2 })],
  });
  expect(violation).toBeUndefined();
});

it('a forgotten entry doesn’t delay its host when the queue removes it after its lease has ended', async () => {
  const { limits, ...rest } = plan(
    call('discover', [1, 4]),
    SETTLE,
    call('lease'),
    SETTLE,
    call('remove', [1]),
    run(true),
    TELL,
    { do: 'time', ms: 10_000 },
    call('extend'),
    call('lease'),
    SETTLE,
  );
  const sets = [hostsFor('set-0', { maxLeased: 1, delayMs: 5_000 })];
  const { violation } = await runHistory({ ...rest, sets, limits: { ...limits, maxMarks: 100 } });
  expect(violation).toBeUndefined();
});

it('scheduled entries that a sync did not keep are gone although the store was killed right after the commit', async () => {
  const { violation } = await runHistory({
    ...plan(
      { ...call('discover', [1]), laterMs: LONGEST_MS } as Step,
      SETTLE,
      call('open-sync'),
      SETTLE,
      call('commit-sync'),
      run(true),
      { do: 'restart', kill: true },
      call('open'),
      SETTLE,
      call('export'),
      SETTLE,
    ),
    sets: [hostsFor('set-0', {})],
  });
  expect(violation).toBeUndefined();
});

const KILL: Step = { do: 'restart', kill: true };
const SCHEDULED_MS = 1_000;
/** More than a commit and removing a few entries take, in the smallest steps. */
const MOST_CHANGES = 8;

/** A history of a set whose scheduled entries come due during a sync, up to its end. */
function dueInSync(set: FilterSpec, ...steps: Step[]): Plan {
  const { limits, ...rest } = plan(
    { ...call('discover', [1, 2, 3, 4, 5]), laterMs: SCHEDULED_MS } as Step,
    SETTLE,
    call('open-sync'),
    SETTLE,
    call('keep', [1, 2]),
    SETTLE,
    { do: 'time', ms: SCHEDULED_MS },
    call('lease'),
    SETTLE,
    KILL,
    call('open'),
    SETTLE,
    ...steps,
    KILL,
    call('open'),
    SETTLE,
    call('export'),
    SETTLE,
  );
  const sizes = { ...limits.sizes, rowBytes: 30, sweptPerSlice: 1 };
  return { ...rest, sets: [set], limits: { ...limits, sizes } };
}

describe.each([
  ['a set', specFor('set-0', 'visited-set')],
  ['a set with perHost', hostsFor('set-0', {})],
])('entries of %s that came due during a sync', (_, set) => {
  it.each(Array.from({ length: MOST_CHANGES }, (_one, n) => n + 1))(
    'are gone unless it kept them, although the store was killed before the commit and %d changes into it',
    async (changes) => {
      const one: Step[] = [run(true), TELL, { do: 'turns', number: 4 }];
      const commit = Array.from({ length: changes }, () => one).flat();
      const { violation } = await runHistory(dueInSync(set, call('commit-sync'), ...commit));
      expect(violation).toBeUndefined();
    },
  );

  it.each<Step>([run(true), SETTLE])(
    'stay if it is abandoned, although the store was killed before and after that (%j)',
    async (step) => {
      const { violation } = await runHistory(dueInSync(set, call('abandon-sync'), step));
      expect(violation).toBeUndefined();
    },
  );
});
