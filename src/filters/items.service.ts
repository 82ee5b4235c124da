import { Injectable } from '@nestjs/common';
import type { Keys, PackedKeys } from '#bloom';
import type { Filter, Operation } from '#store';
import type { BatchTask } from '../batches/batch.js';
import { named, noCounts, tally, type Verdicts } from '../batches/tally.js';
import { ProblemError } from '../errors/problem.js';
import { Membership } from './membership.js';
import { OpenFilters } from './open-filters.js';

// Indexed by the bytes of the port.
const ADD: Verdicts = [
  { name: 'duplicate', result: false },
  { name: 'new', result: true },
];
const CHECK: Verdicts = [
  { name: 'absent', result: false },
  { name: 'present', result: true },
];
const REMOVE = named('absent', 'removed', 'saturated');
const COUNT: Verdicts = Array.from({ length: 16 }, (_, n) => ({
  name: n === 0 ? 'absent' : 'present',
  result: n,
}));

/** What the routes `items/*` do with a batch. */
@Injectable()
export class ItemsService {
  constructor(
    private readonly filters: OpenFilters,
    private readonly membership: Membership,
  ) {}

  add(name: string): BatchTask<Operation, PackedKeys> {
    return this.task('add', name, ADD, (filter, items, operation) =>
      this.membership.add(filter, items, operation),
    );
  }

  check(name: string): BatchTask<number, PackedKeys> {
    return this.task('check', name, CHECK, (filter, items, deadline) =>
      this.membership.check(filter, items, deadline),
    );
  }

  remove(name: string): BatchTask<Operation, PackedKeys> {
    return this.countingTask('remove', name, REMOVE, (filter, items, operation) =>
      this.membership.remove(filter, items, operation),
    );
  }

  count(name: string): BatchTask<number, PackedKeys> {
    return this.countingTask('count', name, COUNT, (filter, items, deadline) =>
      this.membership.count(filter, items, deadline),
    );
  }

  private task<C>(verb: string, name: string, verdicts: Verdicts, act: Act<C>): BatchTask<C, PackedKeys> {
    return {
      verb,
      rule: 'item',
      noCounts: () => noCounts(verdicts),
      admit: () => this.filters.open(name, 'filter'),
      run: async (items, call) => {
        const bytes = await this.filters.on(name, 'filter', (filter) => act(filter, items, call));
        return tally(bytes, verdicts);
      },
      json: ({ results }) => ({ results }),
    };
  }

  /** A task that only a counting filter can do. */
  private countingTask<C>(
    verb: string,
    name: string,
    verdicts: Verdicts,
    act: Act<C>,
  ): BatchTask<C, PackedKeys> {
    return {
      ...this.task(verb, name, verdicts, (filter, items, call: C) => act(counting(filter), items, call)),
      admit: async () => counting(await this.filters.open(name, 'filter')),
    };
  }
}

type Act<C> = (filter: Filter, items: Keys, call: C) => Promise<Uint8Array>;

function counting(filter: Filter): Filter {
  if (filter.type === 'counting') return filter;
  throw new ProblemError(
    'REMOVAL_UNSUPPORTED',
    `"${filter.name}" is a standard filter: it has no counters to take from or to read`,
  );
}
