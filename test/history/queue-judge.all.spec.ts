import { beforeAll, describe, expect, it } from '@jest/globals';
import { SEED } from '../support/random.js';
import { checkHistory } from './checker.js';
import { LAST_WRITES, UNANSWERED_WRITES, type Losses } from './rewind.js';
import type { History } from './history.js';
import type { Leased, QueueAttempt, QueueOperation } from './queue-history.js';
import { judgeQueue } from './queue-judge.js';
import { RULES } from './queue-rules.js';
import { run } from './run.js';
import { QUEUE_DEFECTS, type QueueDefect } from './testing/faulty-queue.js';
import { FaultyService } from './testing/faulty-service.js';
import { violationText } from './text.js';

/** Longer than the longest lease. */
const RUN = { seed: SEED, seconds: 5, operations: 500, clients: 0, workers: 2, faults: [] };
const TIMEOUT_MS = 300_000;
const AT_ONCE = 6;
/** A run shows a defect only if its calls arrive in time, so on a busy machine it may take several runs. */
const RUNS = 5;

/** Defects in a queue with limits for each host. */
const OF_HOSTS: ReadonlySet<string | undefined> = new Set([
  'hands out scheduled entries',
  'leases from hosts that wait',
  'ignores the delay of a release for its hosts',
  'leases too many entries of a host',
  'hands out low priorities first',
]);
/** No defect, in such a queue. */
const BY_HOST = 'by host';

async function historyWith(defect?: QueueDefect | typeof BY_HOST, seed = SEED): Promise<History> {
  const service = await FaultyService.start(seed, defect === BY_HOST ? undefined : defect);
  try {
    return await run(service, { ...RUN, seed, byHost: defect === BY_HOST || OF_HOSTS.has(defect) });
  } finally {
    await service.stop();
  }
}

describe(`the queue’s judge (seed ${SEED})`, () => {
  const histories = new Map<string | undefined, History>();
  // A few runs go at the same time, because they mostly wait. With too many, leases would end too early.
  beforeAll(async () => {
    const all = [undefined, BY_HOST, ...(Object.keys(QUEUE_DEFECTS) as QueueDefect[])] as const;
    for (let i = 0; i < all.length; i += AT_ONCE) {
      const some = all.slice(i, i + AT_ONCE);
      await Promise.all(some.map(async (defect) => histories.set(defect, await historyWith(defect))));
    }
  }, TIMEOUT_MS);

  it.each([
    ['a correct queue', undefined],
    ['a correct queue with limits for each host', BY_HOST],
  ])('finds no violation in %s whose requests sometimes fail or break off', (_, name) => {
    const { violations, entriesChecked } = checkHistory(histories.get(name)!);
    expect(violations.map((violation) => violationText(violation, []))).toEqual([]);
    expect(entriesChecked).toBeGreaterThan(50);
  });

  it.each(Object.entries(QUEUE_DEFECTS))(
    'catches a queue that %s: an entry %j',
    async (defect, effects) => {
      const found: string[] = [];
      let history = histories.get(defect)!;
      for (let n = 1; n <= RUNS; n++) {
        found.push(...checkHistory(history).violations.map((violation) => violation.what));
        if (found.some((text) => effects.some((effect) => text.includes(effect)))) return;
        history = await historyWith(defect as QueueDefect, SEED + n);
      }
      expect(found).toContainEqual(expect.stringContaining(effects.join(' or ')));
    },
    TIMEOUT_MS,
  );

  it('has only rules that catch a defect', () => {
    const caught: ReadonlySet<string> = new Set(Object.values(QUEUE_DEFECTS).flat());
    expect(RULES.map(({ broken }) => broken).filter((broken) => !caught.has(broken))).toEqual([]);
  });
});

const LEASED: Leased = { id: 'a lease', url: 'https://example.org/', discovery: 1, attempt: 1 };
const DISCOVER: QueueOperation = { id: 1, verb: 'discover', urls: [LEASED.url] };
const LEASE: QueueOperation = { id: 2, verb: 'lease', max: 1, seconds: 2, waitSeconds: 0 };
const ACK: QueueOperation = { id: 3, verb: 'ack', ids: [LEASED.id], seconds: 0 };
const DRAIN: QueueOperation = { ...LEASE, id: 4 };

function told(operation: QueueOperation, start: number, ...results: string[]): QueueAttempt {
  return { operation, client: 1, instance: 0, start, end: start + 1, outcome: 'ok', answers: { results } };
}

function leased(operation: QueueOperation, start: number, ...entries: Leased[]): QueueAttempt {
  return { ...told(operation, start), answers: { leased: entries } };
}

describe('judgeQueue', () => {
  const died = (diedAt: number, heldAt = diedAt) => [
    { kind: 'failover', start: heldAt, heldAt, diedAt, end: diedAt + 500 },
  ];
  const violations = (attempts: readonly QueueAttempt[], diedAt = 90_000, losses?: Losses, heldAt?: number) =>
    judgeQueue({ attempts, drainedFrom: 60_000 }, died(diedAt, heldAt), losses).violations.map(
      ({ what }) => what,
    );
  const gone = [told(DISCOVER, 10_000, 'new'), leased(DRAIN, 60_000)];
  const again = [
    ...[told(DISCOVER, 0, 'new'), leased(LEASE, 9_000, LEASED), told(ACK, 10_000, 'acked')],
    leased(DRAIN, 60_000, { ...LEASED, id: 'another', attempt: 2 }),
  ];

  it.each([
    ['that an entry is gone', gone, 'is gone'],
    ['that an entry comes back', again, 'after it had been acknowledged'],
  ])('accepts a failover as the reason %s only if it may lose confirmed changes', (_, attempts, what) => {
    const found = [expect.stringContaining(what)];
    expect(violations(attempts)).toEqual(found);
    expect(violations(attempts, 10_500)).toEqual(found);
    expect(violations(attempts, 10_500, UNANSWERED_WRITES)).toEqual(found);
    expect(violations(attempts, 10_500, LAST_WRITES)).toEqual([]);
    // Held back for longer than usual, on a busy machine.
    expect(violations(attempts, 14_000, LAST_WRITES)).toEqual(found);
    expect(violations(attempts, 14_000, LAST_WRITES, 8_900)).toEqual([]);
    expect(violations(attempts, 20_000, LAST_WRITES)).toEqual(found);
    expect(violations(attempts, 5_000, LAST_WRITES)).toEqual(found);
  });

  it('accepts an acknowledgement without an answer as done or not done', () => {
    const { answers: _, ...sent } = told(ACK, 10_000);
    const lost: QueueAttempt = { ...sent, outcome: 'info' };
    expect(violations(again.map((one) => (one.operation === ACK ? lost : one)))).toEqual([]);
    expect(violations([...again.slice(0, 2), lost, leased(DRAIN, 60_000)])).toEqual([]);
  });

  it('treats repeating a settled lease as a repeat, not as another lease', () => {
    expect(violations([...again.slice(0, 3), leased(LEASE, 20_000)])).toEqual([]);
    expect(violations([...again.slice(0, 3), leased(LEASE, 20_000, LEASED)])).toEqual([
      expect.stringContaining('after it had been acknowledged'),
      expect.stringContaining('repeat of a lease that had ended'),
    ]);
  });

  it('lets a URL with a higher priority come later only if it was leased before', () => {
    const low: Leased = { id: 'low', url: `${LEASED.url}low`, discovery: 7, attempt: 1 };
    const release: QueueOperation = { ...ACK, id: 8, verb: 'release', isUncounted: true };
    const perHost = { delaySeconds: 0, maxLeased: 10 };
    const judged = (leases: readonly QueueAttempt[]) => {
      const attempts = [
        told({ ...DISCOVER, priority: 'high' }, 0, 'new'),
        told({ id: 7, verb: 'discover', urls: [low.url], priority: 'low' }, 100, 'new'),
        ...leases,
        leased(DRAIN, 60_000, low),
        leased({ ...DRAIN, id: 9 }, 60_100, { ...LEASED, id: 'another' }),
      ];
      const { violations: found } = judgeQueue({ attempts, drainedFrom: 60_000, perHost }, []);
      return found.map(({ what }) => what);
    };
    expect(judged([leased(LEASE, 9_000, LEASED), told(release, 10_000, 'released')])).toEqual([]);
    expect(judged([])).toEqual([expect.stringContaining('with a lower priority')]);
  });

  const FORGET: QueueOperation = { id: 5, verb: 'forget', urls: [LEASED.url] };
  const REDISCOVER: QueueOperation = { ...DISCOVER, id: 6 };
  const newTwice = (repeatedAt: number) => [
    // It returned before the death. Its record is lost, and the repeat forgets URLs that were discovered in between.
    told(FORGET, 9_000, 'absent'),
    told(DISCOVER, 11_600, 'new'),
    told(FORGET, repeatedAt, 'forgotten'),
    told(REDISCOVER, 14_000, 'new'),
    leased(DRAIN, 60_000, { ...LEASED, discovery: 6 }),
  ];

  it('accepts that a repeated removal forgets if a failover lost its record, and only then', () => {
    const twice = expect.stringContaining('was new twice');
    expect(violations(newTwice(13_000), 10_500, LAST_WRITES)).toEqual([]);
    expect(violations(newTwice(13_000), 10_500, UNANSWERED_WRITES)).toContainEqual(twice);
    expect(violations(newTwice(13_000), 20_000, LAST_WRITES)).toContainEqual(twice);
    const once = newTwice(13_000).filter(({ start }) => start !== 13_000);
    expect(violations(once, 10_500, LAST_WRITES)).toContainEqual(twice);
  });

  it('accepts that a repeated call to settle takes effect if a failover lost its record, and only then', () => {
    // The lost entry had the same id before the death.
    const settled = (repeats: readonly QueueAttempt[]) => [
      told(DISCOVER, 0, 'new'),
      told(ACK, 9_500, 'unknown'),
      leased(LEASE, 12_000, LEASED),
      ...repeats,
      leased(DRAIN, 60_000),
    ];
    const repeat = told(ACK, 13_000, 'acked');
    expect(violations(settled([repeat]), 10_500, LAST_WRITES)).toEqual([]);
    const gone = expect.stringContaining('is gone');
    expect(violations(settled([]), 10_500, LAST_WRITES)).toContainEqual(gone);
    expect(violations(settled([repeat]), 30_000, LAST_WRITES)).toContainEqual(gone);
  });

  it('accepts that a call to settle is refused just before its id, lost in a failover, is used again', () => {
    // The first lease is lost with the master that died at 10,500, and the next lease has the same id.
    const lost = leased({ ...LEASE, id: 9 }, 10_200, LEASED);
    const settled = (ackedAt: number, ...first: QueueAttempt[]) => [
      told(DISCOVER, 0, 'new'),
      ...first,
      { ...told(ACK, ackedAt, 'unknown'), end: 12_500 },
      { ...leased(LEASE, 12_000, LEASED), end: 12_300 },
      leased(DRAIN, 60_000, { ...LEASED, id: 'another', attempt: 2 }),
    ];
    const refused = [
      expect.stringContaining('could not be settled'),
      expect.stringContaining('was unknown under its lease'),
    ];
    expect(violations(settled(11_900, lost), 10_500, LAST_WRITES)).toEqual([]);
    expect(violations(settled(12_400, lost), 10_500, LAST_WRITES)).toEqual(refused);
    expect(violations(settled(11_900), 10_500, LAST_WRITES)).toEqual(refused);
  });

  it('doesn’t assume that a refused extension, whose record a failover lost, extended the lease', () => {
    const EXTEND: QueueOperation = { id: 7, verb: 'extend', ids: [LEASED.id], seconds: 3 };
    const next = { ...LEASED, id: 'another', attempt: 2 };
    const attempts = [
      told(DISCOVER, 0, 'new'),
      leased(LEASE, 5_000, LEASED),
      told(EXTEND, 9_000, 'expired'),
      leased({ ...LEASE, id: 8 }, 9_500, next),
      told(ACK, 9_700, 'expired'),
      told(EXTEND, 11_600, 'expired'),
      leased(DRAIN, 60_000, { ...LEASED, id: 'the last', attempt: 3 }),
    ];
    expect(violations(attempts, 10_500, LAST_WRITES)).toEqual([]);
  });

  it('lets a repeated lease omit entries that overlapping requests leased beyond its limit, and no others', () => {
    const other: Leased = { ...LEASED, id: 'another', url: 'https://example.org/2', discovery: 9 };
    const leaseOf = (max: number): QueueOperation => ({ ...LEASE, max });
    const overlapping = (max: number) => [
      told(DISCOVER, 0, 'new'),
      told({ ...DISCOVER, id: 9, urls: [other.url] }, 0, 'new'),
      leased(leaseOf(max), 5_000, LEASED),
      leased(leaseOf(max), 5_000, other),
      leased(leaseOf(max), 5_500, other),
      leased(DRAIN, 60_000, { ...LEASED, id: 'x', attempt: 2 }, { ...other, id: 'y', attempt: 2 }),
    ];
    expect(violations(overlapping(1))).toEqual([]);
    expect(violations(overlapping(2))).toEqual([expect.stringContaining('was omitted by the repeat')]);
  });
});
