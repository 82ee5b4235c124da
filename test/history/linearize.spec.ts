import { describe, expect, it } from '@jest/globals';
import type { Call, Operation, Subject, Verb } from './history.js';
import { ITEM_MODELS } from './item-model.js';
import { linearize } from './linearize.js';
import type { Rewind } from './rewind.js';
import { SimulatedItem } from './testing/simulated-item.js';

/** `[operation, verb, start, end, answer]`. Without an answer the outcome is unknown and `end` is ignored. */
type Row = readonly [
  operation: number,
  verb: Verb,
  start: number,
  end: number,
  answer?: string,
  times?: number,
];

function calls(rows: readonly Row[]): Call[] {
  const made = rows.map(([operation, verb, start, end, answer, times = 1]) => {
    const batch: Operation = { id: operation, subject: 'set', verb, items: ['item'] };
    const attempt = { operation: batch, client: 0, instance: 0, start, end, outcome: 'info' as const };
    const call = { attempt, operation, verb, times, start };
    return answer === undefined ? { ...call, end: Infinity } : { ...call, end, answer };
  });
  return made.sort((a, b) => a.start - b.start);
}

const verdict = (subject: Subject, rows: readonly Row[], rewinds: readonly Rewind[] = []) =>
  linearize(calls(rows), ITEM_MODELS[subject], rewinds);

interface Case {
  readonly name: string;
  readonly subject?: Subject;
  readonly rows: readonly Row[];
}

const EXPLAINED: readonly Case[] = [
  { name: 'nothing at all', rows: [] },
  {
    name: 'sequential calls',
    rows: [
      [1, 'check', 0, 1, 'false'],
      [2, 'add', 2, 3, 'true'],
      [3, 'add', 4, 5, 'false'],
      [4, 'count', 6, 7, '1'],
      [5, 'remove', 8, 9, 'removed'],
      [6, 'remove', 10, 11, 'absent'],
    ],
  },
  {
    name: 'one of two concurrent adds is new',
    rows: [
      [1, 'add', 0, 10, 'false'],
      [2, 'add', 0, 10, 'true'],
    ],
  },
  {
    name: 'a read during an add may see either state',
    rows: [
      [1, 'add', 0, 10, 'true'],
      [2, 'check', 1, 3, 'true'],
      [3, 'check', 0, 2, 'false'],
    ],
  },
  {
    name: 'an add of unknown outcome took effect late',
    rows: [
      [1, 'add', 0, 1],
      [2, 'check', 100, 101, 'false'],
      [3, 'check', 200, 201, 'true'],
    ],
  },
  {
    name: 'an add of unknown outcome never took effect',
    rows: [
      [1, 'add', 0, 1],
      [2, 'add', 100, 101, 'true'],
    ],
  },
  {
    name: 'the first attempt took effect unanswered, and the retry has its answer',
    rows: [
      [1, 'add', 0, 1],
      [2, 'check', 2, 3, 'true'],
      [3, 'remove', 4, 5, 'removed'],
      [1, 'add', 6, 7, 'true'],
      [4, 'check', 8, 9, 'false'],
    ],
  },
  {
    name: 'a repeat has the first answer, even after other calls',
    rows: [
      [1, 'add', 0, 1, 'true'],
      [2, 'remove', 2, 3, 'removed'],
      [1, 'add', 4, 5, 'true'],
      [3, 'check', 6, 7, 'false'],
    ],
  },
  {
    name: 'copies in one request',
    rows: [
      [1, 'add', 0, 1, 'true,false', 2],
      [2, 'remove', 2, 3, 'removed,absent', 2],
    ],
  },
  {
    name: 'a multiset counts',
    subject: 'multiset',
    rows: [
      [1, 'add', 0, 1, 'true,false', 2],
      [2, 'add', 2, 3, 'false'],
      [3, 'remove', 4, 5, 'removed'],
      [4, 'count', 6, 7, '2'],
    ],
  },
];

const VIOLATIONS: readonly Case[] = [
  {
    name: 'G1: an acknowledged add is lost',
    rows: [
      [1, 'add', 0, 1, 'true'],
      [2, 'check', 2, 3, 'false'],
    ],
  },
  {
    name: 'G1: an item that was found once is lost, even if its add was never answered',
    rows: [
      [1, 'add', 0, 1],
      [2, 'check', 2, 3, 'true'],
      [3, 'check', 4, 5, 'false'],
    ],
  },
  {
    name: 'finds an item that no call added',
    rows: [[1, 'check', 0, 1, 'true']],
  },
  {
    name: 'finds an item before its add is sent',
    rows: [
      [1, 'check', 0, 1, 'true'],
      [2, 'add', 2, 3, 'true'],
    ],
  },
  {
    name: 'G3: two adds are new',
    rows: [
      [1, 'add', 0, 10, 'true'],
      [2, 'add', 0, 10, 'true'],
    ],
  },
  {
    name: 'G3: no add is new',
    rows: [
      [1, 'add', 0, 10, 'false'],
      [2, 'add', 0, 10, 'false'],
    ],
  },
  {
    name: 'G3: copies in one request are both new',
    rows: [[1, 'add', 0, 1, 'true,true', 2]],
  },
  {
    name: 'G4: a removal of an absent item has the answer "removed"',
    rows: [[1, 'remove', 0, 1, 'removed']],
  },
  {
    name: 'G4: a removal of a present item has the answer "absent"',
    rows: [
      [1, 'add', 0, 1, 'true'],
      [2, 'remove', 2, 3, 'absent'],
    ],
  },
  {
    name: 'G4: one item, removed twice',
    rows: [
      [1, 'add', 0, 1, 'true'],
      [2, 'remove', 2, 9, 'removed'],
      [3, 'remove', 2, 9, 'removed'],
    ],
  },
  {
    name: 'G4: a removal with the answer "removed" leaves the item',
    rows: [
      [1, 'add', 0, 1, 'true'],
      [2, 'remove', 2, 3, 'removed'],
      [3, 'check', 4, 5, 'true'],
    ],
  },
  {
    name: 'G5: a repeat is answered differently',
    rows: [
      [1, 'add', 0, 1, 'true'],
      [1, 'add', 2, 3, 'false'],
    ],
  },
  {
    name: 'G5: a repeat takes effect again',
    rows: [
      [1, 'add', 0, 1, 'true'],
      [2, 'remove', 2, 3, 'removed'],
      [1, 'add', 4, 5, 'true'],
      [3, 'check', 6, 7, 'true'],
    ],
  },
  {
    name: 'G5: the retry of an unanswered change takes effect again',
    subject: 'multiset',
    rows: [
      [1, 'add', 0, 1],
      [2, 'check', 2, 3, 'true'],
      [1, 'add', 4, 5, 'true'],
      [3, 'count', 6, 7, '2'],
    ],
  },
  {
    name: 'G5: an abandoned attempt takes effect after its retry was answered and undone',
    rows: [
      [1, 'add', 0, 1],
      [1, 'add', 2, 3, 'true'],
      [2, 'remove', 4, 5, 'removed'],
      [3, 'check', 6, 7, 'true'],
    ],
  },
  {
    name: 'a multiset loses one of two',
    subject: 'multiset',
    rows: [
      [1, 'add', 0, 1, 'true'],
      [2, 'add', 2, 3, 'false'],
      [3, 'count', 4, 5, '1'],
    ],
  },
  {
    name: 'a multiset keeps a count that was removed',
    subject: 'multiset',
    rows: [
      [1, 'add', 0, 1, 'true,false', 2],
      [2, 'remove', 2, 3, 'removed'],
      [3, 'count', 4, 5, '2'],
    ],
  },
];

describe('linearize', () => {
  it.each(EXPLAINED)('explains: $name', ({ subject = 'set', rows }) => {
    expect(verdict(subject, rows)).toBe('linearizable');
  });

  it.each(VIOLATIONS)('refuses: $name', ({ subject = 'set', rows }) => {
    expect(verdict(subject, rows)).toBe('violation');
  });

  it('stops a long search, and reports it as undecided', () => {
    const rows = Array.from({ length: 12 }, (_, i): Row => [i, 'add', 0, 1]);
    const end: Row[] = [[20, 'count', 2, 3, '14']];
    expect(linearize(calls([...rows, ...end]), ITEM_MODELS.multiset)).toBe('violation');
    expect(linearize(calls([...rows, ...end]), ITEM_MODELS.multiset, [], 100)).toBe('undecided');
  });
});

/** A master dies at 1,000, and its replica has taken over by 2,000. Answers since 900 may be lost. */
const FAILOVER: readonly Rewind[] = [{ start: 1_000, end: 2_000, reachMs: 100, evenIfRead: false }];

const ADDED_LATE: readonly Row[] = [
  [1, 'add', 940, 950, 'true'],
  [2, 'check', 960, 970, 'true'],
];

const LOSSES: readonly Case[] = [
  { name: 'the last add', rows: [...ADDED_LATE, [3, 'check', 2_100, 2_110, 'false']] },
  { name: 'nothing', rows: [...ADDED_LATE, [3, 'check', 2_100, 2_110, 'true']] },
  {
    name: 'the last add with its record, so that a repeat is new again',
    rows: [
      ...ADDED_LATE,
      [3, 'add', 2_100, 2_110, 'true'],
      [4, 'remove', 2_120, 2_130, 'removed'],
      [1, 'add', 2_140, 2_150, 'true'],
      [5, 'check', 2_160, 2_170, 'true'],
    ],
  },
  {
    name: 'the effect of an attempt in progress, before the service repeated it',
    rows: [
      [1, 'add', 960, 2_500, 'true'],
      [2, 'check', 970, 980, 'true'],
      [3, 'check', 2_100, 2_110, 'false'],
      [4, 'check', 2_600, 2_610, 'true'],
    ],
  },
];

const TOO_MUCH: readonly Case[] = [
  {
    name: 'a change that was answered long before',
    rows: [
      [1, 'add', 10, 20, 'true'],
      [2, 'check', 2_100, 2_110, 'false'],
    ],
  },
  {
    name: 'an unanswered change that was seen long before',
    rows: [
      [1, 'add', 10, 20],
      [2, 'check', 30, 40, 'true'],
      [3, 'check', 2_100, 2_110, 'false'],
    ],
  },
  {
    name: 'an item before the master died',
    rows: [...ADDED_LATE, [3, 'check', 980, 990, 'false']],
  },
  {
    name: 'an item a second time, when it is over',
    rows: [...ADDED_LATE, [3, 'check', 2_100, 2_110, 'true'], [4, 'check', 2_200, 2_210, 'false']],
  },
  {
    name: 'the change but not its record',
    rows: [
      ...ADDED_LATE,
      [3, 'check', 2_100, 2_110, 'false'],
      [1, 'add', 2_140, 2_150, 'true'],
      [5, 'check', 2_160, 2_170, 'false'],
    ],
  },
  {
    name: 'an earlier change without the later one',
    subject: 'multiset',
    rows: [
      [1, 'add', 940, 945, 'true,false', 2],
      [2, 'add', 950, 955, 'false'],
      [3, 'count', 2_100, 2_110, '1'],
    ],
  },
];

describe('linearize, across a failover that may lose the last writes', () => {
  it.each(LOSSES)('accepts the loss of $name', ({ subject = 'set', rows }) => {
    expect(verdict(subject, rows, FAILOVER)).toBe('linearizable');
  });

  it.each(TOO_MUCH)('refuses the loss of $name', ({ subject = 'set', rows }) => {
    expect(verdict(subject, rows, FAILOVER)).toBe('violation');
  });

  describe('if changes return once a replica has them, and reads immediately', () => {
    const waiting: readonly Rewind[] = [{ start: 1_000, end: 2_000, reachMs: 0, evenIfRead: true }];

    it('accepts that unconfirmed changes are lost, read or not', () => {
      const rows: readonly Row[] = [
        [1, 'add', 940, 945],
        [2, 'check', 950, 955, 'true'],
        [3, 'check', 2_100, 2_110, 'false'],
      ];
      expect(verdict('set', rows, waiting)).toBe('linearizable');
      expect(verdict('set', rows, FAILOVER)).toBe('linearizable');
      const early: readonly Rewind[] = [{ ...waiting[0]!, start: 1_500, evenIfRead: false }];
      expect(verdict('set', rows, early)).toBe('violation');
    });

    it('refuses that confirmed changes are lost, or changes that another change saw', () => {
      expect(verdict('set', [...ADDED_LATE, [3, 'check', 2_100, 2_110, 'false']], waiting)).toBe('violation');
      const seen: readonly Row[] = [
        [1, 'add', 940, 945],
        [2, 'add', 950, 955, 'false'],
        [3, 'check', 2_100, 2_110, 'false'],
      ];
      expect(verdict('set', seen, waiting)).toBe('violation');
    });
  });

  it('accepts no loss where none is allowed', () => {
    expect(verdict('set', [...ADDED_LATE, [3, 'check', 2_100, 2_110, 'false']])).toBe('violation');
  });
});

describe('linearize, on a simulated item’s histories', () => {
  const SEEDS = Array.from({ length: 400 }, (_, i) => i + 1);

  it.each(['set', 'multiset'] as const)('explains all histories of a correct %s', (subject) => {
    for (const seed of SEEDS) {
      const item = new SimulatedItem(subject, seed);
      expect([seed, linearize(item.calls(), ITEM_MODELS[subject])]).toEqual([seed, 'linearizable']);
    }
  });

  it.each(['set', 'multiset'] as const)('explains all histories of a %s with lossy failovers', (subject) => {
    for (const seed of SEEDS) {
      const item = new SimulatedItem(subject, seed, { failovers: 2, reachMs: 60 });
      const found = linearize(item.calls(), ITEM_MODELS[subject], item.rewinds);
      expect([seed, found]).toEqual([seed, 'linearizable']);
    }
  });

  it.each(['forgets records', 'loses an acknowledged change'] as const)(
    'refuses most histories of an item that %s',
    (defect) => {
      const refused = SEEDS.filter((seed) => {
        const item = new SimulatedItem('multiset', seed, { defect });
        return linearize(item.calls(), ITEM_MODELS.multiset) === 'violation';
      });
      expect(refused.length).toBeGreaterThan(SEEDS.length / 2);
    },
  );
});
