import { describe, expect, it } from '@jest/globals';
import { LAST_WRITES, type Losses } from '../rewind.js';
import type { Fault } from '../attempt.js';
import { judgeSynced, SYNCED_RULES, type SyncedRule } from './synced-judge.js';
import type { SyncedAnswers, SyncedAttempt, SyncedOperation, SyncSeen, SyncState } from './synced-history.js';

const SETS = [
  { name: 'fixed', growth: 'none' as const },
  { name: 'ageing', growth: 'auto' as const, maxAgeSeconds: 10 },
];
const [S, S2] = ['a sync', 'another'];
const LEASED = { id: 'a lease', url: 'u', discovery: 7, attempt: 1 };

/** A call with its answer, in its place in the history. `again`: repeats the call that has this id, with its key. */
type Call = {
  readonly operation: Draft;
  readonly answers?: SyncedAnswers;
  readonly again?: number;
  readonly wrong?: string;
};
type Draft = SyncedOperation extends infer Op ? (Op extends unknown ? Omit<Op, 'id' | 'set'> : never) : never;
/** A pause between two calls, in ms. */
type Pause = { readonly pause: number };

const told = (operation: Draft, ...results: string[]): Call => ({ operation, answers: { results } });
const visit = (word: string, ttlSeconds?: number): Call =>
  told({ verb: 'visit', urls: ['u'], ...(ttlSeconds !== undefined && { ttlSeconds }) }, word);
const discover = (word: string): Call => told({ verb: 'discover', urls: ['u'] }, word);
const forget = (word: string): Call => told({ verb: 'forget', urls: ['u'] }, word);
const check = (word: string): Call => told({ verb: 'check', urls: ['u'] }, word);
const list = (word: string, stream = false, sync = S): Call =>
  told({ verb: 'list', sync, urls: ['u'], stream }, word);
const about = (operation: Draft, sync: SyncSeen): Call => ({ operation, answers: { sync } });
const open = (id = S, more: SyncSeen = { state: 'open' }): Call => about({ verb: 'open' }, { id, ...more });
const commit = (state: SyncState = 'committed', sync = S): Call =>
  about({ verb: 'commit', sync }, { id: sync, state });
const abandon = (sync = S): Call => about({ verb: 'abandon', sync }, { id: sync, state: 'abandoned' });
const look = (sync: SyncSeen): Call => about({ verb: 'look', sync: S }, sync);
const lease: Call = {
  operation: { verb: 'lease', max: 1, seconds: 60, waitSeconds: 0 },
  answers: { leased: [LEASED] },
};
const ack = told({ verb: 'ack', ids: [LEASED.id], seconds: 0 }, 'acked');
const again = (id: number, call: Call): Call => ({ ...call, again: id });
const unanswered = ({ answers: _, ...call }: Call): Call => call;
const pause = (ms: number): Pause => ({ pause: ms });

/** One call after another, each for 1 ms, with 9 ms in between. Operations are numbered from 1 in order. */
function attemptsOf(calls: readonly (Call | Pause)[], set = 'fixed'): SyncedAttempt[] {
  const made = new Map<number, SyncedOperation>();
  const attempts: SyncedAttempt[] = [];
  let start = 1_000;
  for (const call of calls) {
    start += 'pause' in call ? call.pause : 10;
    if ('pause' in call) continue;
    const { answers, wrong, again: of } = call;
    // A lease names this discovery.
    const id = of ?? (call.operation.verb === 'discover' ? LEASED.discovery : 100 + made.size);
    const operation = made.get(id) ?? { ...call.operation, id, set };
    made.set(id, operation);
    const outcome = answers === undefined ? ('info' as const) : ('ok' as const);
    attempts.push({
      ...{ operation, client: 1, instance: 0, start, end: start + 1, outcome },
      ...(answers && { answers }),
      ...(wrong !== undefined && { wrong, note: `503 ${wrong}` }),
    });
  }
  return attempts;
}

function judged(
  calls: readonly (Call | Pause)[],
  set?: string,
  faults: readonly Fault[] = [],
  losses?: Losses,
) {
  return judgeSynced({ sets: SETS, attempts: attemptsOf(calls, set) }, faults, losses);
}

interface Case {
  readonly rule: SyncedRule;
  readonly before: readonly (Call | Pause)[];
  readonly wrong: Call;
  readonly right: Call;
  readonly set?: string;
}

const [seen, unseen] = [check('seen'), check('unseen')];
const IN_SYNC = [visit('new'), open()];

const CASES: readonly Case[] = [
  { rule: 'seen since a call added it', before: [visit('new')], wrong: unseen, right: seen },
  {
    rule: 'seen after a commit, since it was visited in the sync',
    ...{ before: [open(), visit('new'), commit()], wrong: unseen, right: seen },
  },
  {
    rule: 'seen after a commit, since it was listed',
    ...{ before: [open(), list('new'), commit()], wrong: unseen, right: seen },
  },
  {
    rule: 'seen after a commit, since it was queued at the opening',
    ...{ before: [discover('new'), open(), commit()], wrong: unseen, right: seen },
  },
  {
    rule: 'seen after a commit, since it was queued at the opening and acknowledged later',
    ...{ before: [discover('new'), lease, open(), ack, commit()], wrong: unseen, right: seen },
  },
  {
    rule: 'seen after a sync that was abandoned',
    ...{ before: [...IN_SYNC, abandon()], wrong: unseen, right: seen },
  },
  {
    rule: 'seen until its age ends',
    ...{ before: [visit('new'), pause(9_000)], wrong: unseen, right: seen, set: 'ageing' },
  },
  {
    rule: 'seen until its age ends, through a commit',
    before: [visit('new'), open(), visit('seen', 1), commit(), pause(9_000)],
    ...{ wrong: unseen, right: seen, set: 'ageing' },
  },
  {
    rule: 'unseen since it was forgotten',
    ...{ before: [visit('new'), forget('forgotten')], wrong: seen, right: unseen },
  },
  {
    rule: 'unseen after a commit, since it was forgotten in the sync',
    before: [...IN_SYNC, forget('forgotten'), list('forgotten'), commit()],
    ...{ wrong: seen, right: unseen },
  },
  {
    rule: 'unseen after a commit, since nothing kept it',
    ...{ before: [...IN_SYNC, commit()], wrong: seen, right: unseen },
  },
  {
    rule: 'unseen, since only an abandoned sync had listed it',
    ...{ before: [open(), list('new'), abandon()], wrong: seen, right: unseen },
  },
  {
    rule: 'unseen, since its age has ended',
    ...{ before: [visit('new', 2), pause(4_000)], wrong: seen, right: unseen, set: 'ageing' },
  },
  {
    rule: 'unseen, since its age had ended before it was listed again',
    before: [open(), list('new'), pause(8_000), list('kept'), commit(), pause(5_000)],
    ...{ wrong: seen, right: unseen, set: 'ageing' },
  },
  {
    rule: 'a sync ends only by a commit, by a call that abandons it, or for a true reason',
    before: [open()],
    wrong: look({
      id: S,
      state: 'abandoned',
      reason: 'more items were removed during the sync than it can record',
    }),
    right: abandon(),
  },
  {
    rule: 'a sync that has ended does not change',
    before: [open(), commit()],
    wrong: look({ id: S, state: 'open' }),
    right: look({ id: S, state: 'committed' }),
  },
  {
    rule: 'a sync is readable until the next one is opened',
    before: [open(), commit()],
    wrong: look({ code: 'SYNC_NOT_FOUND' }),
    right: look({ id: S, state: 'committed' }),
  },
  {
    rule: 'a sync opens unless another one is in progress',
    before: [open(), commit()],
    wrong: open(S, { code: 'SYNC_EXISTS' }),
    right: open(S2),
  },
  {
    rule: 'a repeat of open answers the same',
    ...{ before: [open()], wrong: again(100, open(S2)), right: again(100, open()) },
  },
  {
    rule: 'a repeat of open answers the same after the next sync was opened',
    before: [open(), commit(), open(S2)],
    wrong: again(100, open(S2, { code: 'SYNC_EXISTS' })),
    right: again(100, open(S, { state: 'committed' })),
  },
  {
    rule: 'a repeat of commit answers the same',
    before: [open(), commit('committing')],
    wrong: again(101, about({ verb: 'commit', sync: S }, { code: 'SYNC_ENDED' })),
    right: again(101, commit()),
  },
  {
    rule: 'a repeat of commit answers the same after the next sync was opened',
    before: [open(), commit(), open(S2)],
    wrong: again(101, about({ verb: 'commit', sync: S }, { code: 'SYNC_NOT_FOUND' })),
    right: again(101, commit()),
  },
  {
    rule: 'a repeat of abandon answers the same',
    before: [open(), abandon()],
    wrong: again(101, about({ verb: 'abandon', sync: S }, { code: 'SYNC_ENDED' })),
    right: again(101, abandon()),
  },
  {
    rule: 'a repeat of a list in JSON answers the same',
    ...{ before: [open(), list('new')], wrong: again(101, list('kept')), right: again(101, list('new')) },
  },
  {
    rule: 'a repeat of a list in JSON answers the same after its sync',
    before: [open(), list('new'), commit()],
    ...{ wrong: again(101, list('kept')), right: again(101, list('new')) },
  },
  {
    rule: 'a repeat of a streamed list answers the same',
    before: [open(), list('new', true)],
    ...{ wrong: again(101, list('kept', true)), right: again(101, list('new', true)) },
  },
  {
    rule: 'a repeat of a streamed list answers the same after its sync',
    before: [open(), list('new', true), commit()],
    wrong: again(
      101,
      about({ verb: 'list', sync: S, urls: ['u'], stream: true }, { code: 'SYNC_NOT_FOUND' }),
    ),
    right: again(101, list('new', true)),
  },
  {
    rule: 'a repeat of another call answers the same',
    ...{ before: [visit('new')], wrong: again(100, visit('seen')), right: again(100, visit('new')) },
  },
  {
    rule: 'data is lost only if it is',
    ...{ before: [visit('new')], wrong: { ...unanswered(unseen), wrong: 'STORE_DATA_LOST' }, right: seen },
  },
];

describe('judgeSynced', () => {
  it.each(CASES)('detects a history that breaks the rule: $rule', ({ rule, before, wrong, right, set }) => {
    const broken = judged([...before, wrong], set);
    const name = rule === 'data is lost only if it is' ? 'STORE_DATA_LOST' : rule;
    expect(broken.violations.map(({ what }) => what)).toContainEqual(expect.stringContaining(name));
    const sound = judged([...before, right], set);
    expect(sound.violations).toEqual([]);
    expect(sound.exercised.get(rule)).toBeGreaterThan(0);
  });

  it('has such a history for every rule', () => {
    expect(CASES.map(({ rule }) => rule)).toEqual([...SYNCED_RULES]);
  });

  it.each([
    ['a visit that was sent before the opening was answered', [visit('seen'), open(), commit()]],
    ['a list that was not answered', [visit('new'), open(), unanswered(list('kept')), commit()]],
    ['a commit that was not answered', [visit('new'), open(), unanswered(commit())]],
    ['an acknowledgement before the opening', [discover('new'), lease, ack, open(), commit()]],
    ['a removal that was not answered', [open(), visit('new'), unanswered(forget('forgotten')), commit()]],
    ['an abandon that was not answered', [open(), list('new'), unanswered(abandon())]],
    [
      'a visit that found it only on the list of an abandoned sync',
      [visit('new'), open(), commit(), open(S2), list('new', false, S2), visit('seen'), abandon(S2)],
    ],
  ])('leaves a URL’s state open after %s', (_, before) => {
    expect(judged([...before, unseen]).violations).toEqual([]);
  });

  it.each([
    ['possibly queued at the opening', [unanswered(discover('new')), open(), commit()]],
    ['visited without an answer', [open(), unanswered(visit('new')), commit()]],
    ['listed by a sync that may still be open', [open(), list('new'), unanswered(abandon())]],
    ['forgotten, and then visited', [open(), forget('forgotten'), visit('new'), commit()]],
  ])('accepts a seen URL that was %s', (_, before) => {
    expect(judged([...before, seen]).violations).toEqual([]);
  });

  it('accepts that a failover loses the last writes, and no others', () => {
    const calls = [open(), visit('new'), commit(), unseen];
    const died = (diedAt: number) => [{ kind: 'failover', start: diedAt, diedAt, end: diedAt + 5 }];
    expect(judged(calls, undefined, died(1_035), LAST_WRITES).violations).toEqual([]);
    expect(judged(calls, undefined, died(9_000), LAST_WRITES).violations).toHaveLength(1);
    expect(judged(calls, undefined, died(1_035)).violations).toHaveLength(1);
  });

  it('lets a sync end although no answer said that it was open', () => {
    const reason = 'the service stopped while opening it';
    const taken = open(S, { code: 'SYNC_EXISTS', state: 'open' });
    const ended = look({ id: S, state: 'abandoned', reason });
    expect(judged([unanswered(open()), taken, ended]).violations).toEqual([]);
    expect(judged([open(), taken, ended]).violations).toHaveLength(1);
  });

  it('accepts that a visit after a commit gives a URL its own age', () => {
    const calls = [visit('new'), open(), commit(), visit('new', 1), pause(2_500), unseen];
    expect(judged(calls, 'ageing').violations).toEqual([]);
  });

  it('accepts that an age ends up to one step late, and not early', () => {
    const checked = (ms: number, word: string) =>
      judged([visit('new'), pause(ms), check(word)], 'ageing').violations;
    expect(checked(9_700, 'unseen')).toHaveLength(1);
    for (const word of ['seen', 'unseen']) expect(checked(10_300, word)).toEqual([]);
    expect(checked(11_000, 'seen')).toHaveLength(1);
  });
});
