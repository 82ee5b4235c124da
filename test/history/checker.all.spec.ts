import { beforeAll, describe, expect, it } from '@jest/globals';
import { SEED } from '../support/random.js';
import { checkHistory } from './checker.js';
import { UNANSWERED_WRITES, type Losses } from './rewind.js';
import type { Attempt, History, Operation } from './history.js';
import type { Fault } from './attempt.js';
import { run } from './run.js';
import { DEFECTS, type Defect } from './testing/faulty-items.js';
import { FaultyService } from './testing/faulty-service.js';
import { violationText } from './text.js';

const RUN = { seed: SEED, seconds: 0, operations: 600, clients: 12, workers: 0, faults: [] };

async function historyWith(defect?: Defect): Promise<History> {
  const service = await FaultyService.start(SEED, defect);
  try {
    return await run(service, RUN);
  } finally {
    await service.stop();
  }
}

/** The runs take five seconds on an idle machine, and have taken more than a minute on a busy one. */
const TIMEOUT_MS = 300_000;

describe(`the checker (seed ${SEED})`, () => {
  const histories = new Map<Defect | undefined, History>();
  // All runs go at the same time, because they mostly wait. A search would delay the others for too long.
  beforeAll(async () => {
    const all = [undefined, ...DEFECTS];
    await Promise.all(all.map(async (defect) => histories.set(defect, await historyWith(defect))));
  }, TIMEOUT_MS);

  it('finds no violation in a correct service whose requests sometimes fail or break off', () => {
    const history = histories.get(undefined)!;
    const report = checkHistory(history);
    expect(report).toMatchObject({ violations: [], undecided: 0 });
    expect(report.itemsChecked).toBeGreaterThan(50);
    expect(history.attempts.some(({ outcome }) => outcome === 'info')).toBe(true);
  });

  it.each(DEFECTS)('catches a service that %s', (defect) => {
    expect(checkHistory(histories.get(defect)!).violations).not.toEqual([]);
  });
});

let operations = 0;

function operation(verb: Operation['verb'], items: readonly string[]): Operation {
  return { id: ++operations, subject: 'set', verb, items };
}

function ok(of: Operation, start: number, ...answers: NonNullable<Attempt['answers']>): Attempt {
  return { operation: of, client: 1, instance: 0, start, end: start + 1, outcome: 'ok', answers };
}

function historyOf(attempts: readonly Attempt[], more: Partial<History> = {}): History {
  return { attempts, faults: [], descriptions: [], failures: [], ...more };
}

describe('checkHistory', () => {
  it('checks each item of a batch separately, and each item once', () => {
    const report = checkHistory(
      historyOf([
        ok(operation('add', ['a', 'b', 'a']), 0, true, true, false),
        ok(operation('check', ['a', 'b', 'c']), 2, true, true, false),
      ]),
    );
    expect(report).toEqual({ itemsChecked: 3, entriesChecked: 0, undecided: 0, violations: [] });
  });

  it('ignores attempts that certainly had no effect', () => {
    const refused: Attempt = { ...ok(operation('add', ['a']), 0), outcome: 'fail' };
    const report = checkHistory(historyOf([refused, ok(operation('check', ['a']), 2, true)]));
    expect(report.violations).toHaveLength(1);
  });

  it('reports an item whose answers no order explains, with the calls that show it', () => {
    const fault: Fault = { kind: 'kill', start: 3, end: 4 };
    const attempts = [
      ok(operation('check', ['a']), 0, false),
      ok(operation('add', ['a', 'b']), 2, true, true),
      ok(operation('check', ['a', 'b']), 5, true, false),
      ok(operation('check', ['b']), 7, true),
    ];
    const [violation, ...others] = checkHistory(historyOf(attempts)).violations;
    expect(others).toEqual([]);
    expect(violation).toMatchObject({
      what: 'G1: a stored item was not found',
      item: { subject: 'set', name: 'b', calls: [{ answer: 'true' }, { verb: 'check', answer: 'false' }] },
    });
    expect(violationText(violation!, [fault]).split('\n')).toEqual([
      'G1: a stored item was not found',
      '  item b of filter set',
      expect.stringMatching(/2\.00 … 3\.00 ms +add -> true +\(operation \d+ {2}client 1 {2}instance 0\)/),
      expect.stringMatching(/3\.00 … 4\.00 ms +fault kill/),
      expect.stringMatching(/5\.00 … 6\.00 ms +check -> false/),
    ]);
  });

  it.each([
    ['G3', [ok(operation('add', ['a']), 0, true), ok(operation('add', ['a']), 2, true)]],
    ['G4', [ok(operation('remove', ['a']), 0, 'removed')]],
    ['G4', [ok(operation('add', ['a']), 0, true), ok(operation('remove', ['a']), 2, 'saturated')]],
    ['G5', [ok(operation('check', ['a']), 0, true)]],
  ])('names %s', (guarantee, attempts) => {
    const [violation] = checkHistory(historyOf(attempts)).violations;
    expect(violation?.what).toContain(guarantee);
  });

  it('names G5 for an operation that has two answers', () => {
    const add = operation('add', ['a']);
    const report = checkHistory(historyOf([ok(add, 0, true), ok(add, 2, false)]));
    expect(report.violations[0]?.what).toBe('G5: a repeat was answered differently');
  });

  it('compares a description’s item count with the items found at the end', () => {
    const attempts = [
      ok(operation('add', ['a', 'b']), 0, true, true),
      ok(operation('remove', ['a']), 2, 'removed'),
      ok(operation('check', ['a', 'b']), 4, false, true),
    ];
    const said = (items: number) =>
      checkHistory(historyOf(attempts, { descriptions: [{ subject: 'set', items }] })).violations;
    expect(said(1)).toEqual([]);
    expect(said(2)).toEqual([{ what: 'filter set says it holds 2 items, but 1 are found in it' }]);
  });

  it('reports answers that no fault excuses, and services that exited', () => {
    const wrong: Attempt = {
      ...ok(operation('add', ['a']), 0),
      outcome: 'info',
      note: '500 INTERNAL_ERROR',
      wrong: 'no fault excuses it',
    };
    const { violations } = checkHistory(historyOf([wrong], { failures: ['a service ended by itself'] }));
    expect(violations.map(({ what }) => what)).toEqual([
      'a service ended by itself',
      expect.stringContaining('was answered 500 INTERNAL_ERROR: no fault excuses it'),
    ]);
  });

  it('accepts lost last writes after a failover only where that is allowed', () => {
    const add = ok(operation('add', ['a']), 950, true);
    const attempts = [add, ok(operation('check', ['a']), 3_000, false)];
    const violations = (losses?: Losses, heldAt = 1_000) => {
      const faults = [{ kind: 'failover', start: 900, heldAt, diedAt: 1_000, end: 2_000 }];
      return checkHistory(historyOf(attempts, { faults }), losses).violations;
    };
    expect(violations({ reachMs: 100, evenIfRead: false })).toEqual([]);
    expect(violations({ reachMs: 10, evenIfRead: false })).toHaveLength(1);
    expect(violations({ reachMs: 10, evenIfRead: false }, 940)).toEqual([]);
    expect(violations({ reachMs: 10, evenIfRead: false }, 960)).toHaveLength(1);
    expect(violations(UNANSWERED_WRITES, 940)).toHaveLength(1);
    expect(violations()).toHaveLength(1);
  });
});
