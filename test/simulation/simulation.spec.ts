import { expect, it, jest } from '@jest/globals';
import { Session } from '../../libs/store/src/embedded/engine/session.js';
import { SEED } from '../support/random.js';
import { runHistory } from './history.js';
import { planOf } from './plan.js';
import { shrink } from './shrink.js';
import { seedsFrom, simulate } from './simulate.js';

const HISTORIES = 400;
/** The rules that these histories must have exercised. */
const RULES = [
  ...['add', 'discover', 'remove', 'check', 'count', 'describe', 'create', 'clear', 'drop', 'open'],
  ...['lease', 'ack', 'release', 'extend', 'dead-letters', 'put-back', 'purge', 'drained'],
  ...['open-sync', 'keep', 'get-sync', 'sync committed', 'sync abandoned, since a caller abandoned it'],
  'sync abandoned, since no request used it for too long',
  'sync abandoned, since more items were removed during the sync than it can record',
  ...['repeated add', 'repeated remove', 'repeated discover', 'repeated lease', 'repeated release'],
  ...['repeated create', 'repeated clear', 'repeated drop', 'repeated keep', 'repeated open-sync'],
  ...['refused: STALE', 'refused: FILTER_NOT_FOUND', 'refused: FILTER_FULL', 'refused: SYNC_ENDED'],
  ...['refused: STORE_UNAVAILABLE', 'refused: STORE_FULL', 'refused: IDEMPOTENCY_KEY_EXPIRED'],
  'refused: IDEMPOTENCY_KEY_REUSED',
  ...['repeated ack', 'repeated extend', 'saturated', 'hidden', 'clock set back', 'copied'],
  ...['lease by host', 'limited', 'hosts imported', 'scheduled by discover', 'scheduled by ack'],
  ...['host', 'hosts', 'set-host', 'drop-host', 'repeated set-host', 'repeated drop-host'],
  ...[
    'entries listed',
    'entries listed after the clock was set back',
    'drop-entries',
    'forget-entries',
    'repeated drop-entries',
  ],
  ...['export', 'import', 'repeated import', 'copied while it changed', 'refused: TORN'],
  ...['refused: FILTER_EXISTS', 'refused: NOT_COUNTING', 'list', 'read in pages', 'damaged', 'lost'],
  ...['commit failed', 'changes undone', 'killed with calls in progress', 'closed and opened'],
];

it(`histories of the embedded store agree with an exact model (${HISTORIES} from seed ${SEED})`, async () => {
  const { failed, exercised } = await simulate(seedsFrom(SEED, HISTORIES));
  expect([...failed]).toEqual([]);
  expect(RULES.filter((rule) => !exercised.has(rule))).toEqual([]);
});

it('a seed gives the same history each time', async () => {
  for (const seed of seedsFrom(SEED, 20)) {
    const { hash, trace } = await runHistory(planOf(seed));
    expect(trace.length).toBeGreaterThan(10);
    expect((await runHistory(planOf(seed))).hash).toBe(hash);
  }
});

it('a store that forgets its counts fails, and its history shrinks to a few steps', async () => {
  const save = jest.spyOn(Session.prototype, 'save').mockImplementation(() => undefined);
  try {
    const [seed = 0] = (await simulate(seedsFrom(SEED, 100))).failed.keys();
    const { plan, outcome } = await shrink(planOf(seed));
    expect(outcome.violation).toBeDefined();
    expect(plan.steps.length).toBeLessThan(4);
  } finally {
    save.mockRestore();
  }
});
