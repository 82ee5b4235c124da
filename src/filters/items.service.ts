import { Injectable } from '@nestjs/common';
import type { Keys, PackedKeys } from '#bloom';
import type { Filter, Operation } from '#store';
import type { BatchResult, BatchTask } from '../batches/batch.js';
import { named, tally, type Verdicts } from '../batches/tally.js';
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
    return this.task('add', name, async (filter, items, operation) =>
      tally(await this.membership.add(filter, items, operation), ADD),
    );
  }

  check(name: string): BatchTask<number, PackedKeys> {
    return this.task('check', name, async (filter, items, deadline) =>
      tally(await this.membership.check(filter, items, deadline), CHECK),
    );
  }

  remove(name: string): BatchTask<Operation, PackedKeys> {
    return this.countingTask('remove', name, async (filter, items, operation) =>
      tally(await this.membership.remove(filter, items, operation), REMOVE),
    );
  }

  count(name: string): BatchTask<number, PackedKeys> {
    return this.countingTask('count', name, async (filter, items, deadline) =>
      tally(await this.membership.count(filter, items, deadline), COUNT),
    );
  }

  private task<C>(verb: string, name: string, act: Act<C>): BatchTask<C, PackedKeys> {
    return {
      verb,
      rule: 'item',
      admit: () => this.filters.open(name, 'filter'),
      run: (items, call) => this.filters.on(name, 'filter', (filter) => act(filter, items, call)),
      json: ({ results }) => ({ results }),
    };
  }

  /** A task that only a counting filter can do. */
  private countingTask<C>(verb: string, name: string, act: Act<C>): BatchTask<C, PackedKeys> {
    return {
      ...this.task(verb, name, (filter, items, call: C) => act(counting(filter), items, call)),
      admit: async () => counting(await this.filters.open(name, 'filter')),
    };
  }
}

type Act<C> = (filter: Filter, items: Keys, call: C) => Promise<BatchResult>;

function counting(filter: Filter): Filter {
  if (filter.type === 'counting') return filter;
  throw new ProblemError(
    'REMOVAL_UNSUPPORTED',
    `"${filter.name}" is a standard filter: it has no counters to take from or to read`,
  );
}
