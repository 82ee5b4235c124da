import { Injectable } from '@nestjs/common';
import type { Keys } from '#bloom';
import type { Filter, Operation } from '#store';
import type { BatchResult } from '../batches/batch.js';
import { named, tally, type Verdicts } from '../batches/tally.js';
import { ProblemError } from '../errors/problem.js';
import { Membership } from './membership.js';
import { OpenFilters } from './open-filters.js';

// The index is the port's answer byte.
const ADD: Verdicts = [
  { name: 'duplicate', result: false },
  { name: 'new', result: true },
];
const CHECK: Verdicts = [
  { name: 'absent', result: false },
  { name: 'present', result: true },
];
const REMOVE = named('absent', 'removed', 'saturated');
const KEEP = named('kept', 'new', 'forgotten');
const COUNT: Verdicts = Array.from({ length: 16 }, (_, n) => ({
  name: n === 0 ? 'absent' : 'present',
  result: n,
}));

/** Throws if the call doesn't fit the filter. A name may belong to a different filter on the next call. */
export type Accept = (filter: Filter) => void;

export interface AddItems {
  /** Adds only absent items to a multiset. */
  readonly onlyAbsent?: boolean | undefined;
  readonly accept?: Accept;
}

/**
 * Executes the routes `items/*`, for a JSON batch or one of a stream's blocks. Throws FILTER_NOT_FOUND and port errors.
 */
@Injectable()
export class ItemsService {
  constructor(
    private readonly filters: OpenFilters,
    private readonly membership: Membership,
  ) {}

  open(name: string): Promise<Filter> {
    return this.filters.open(name, 'filter');
  }

  /** Throws REMOVAL_UNSUPPORTED for a standard filter. */
  async openCounting(name: string): Promise<Filter> {
    return counting(await this.open(name));
  }

  add(
    name: string,
    items: Keys,
    operation: Operation,
    { onlyAbsent, accept }: AddItems = {},
  ): Promise<BatchResult> {
    return this.on(name, accept, async (filter) =>
      tally(await this.membership.add(filter, items, operation, { onlyAbsent }), ADD),
    );
  }

  check(name: string, items: Keys, deadline: number, accept?: Accept): Promise<BatchResult> {
    return this.on(name, accept, async (filter) =>
      tally(await this.membership.check(filter, items, deadline), CHECK),
    );
  }

  /** Throws REMOVAL_UNSUPPORTED for a standard filter. */
  remove(name: string, items: Keys, operation: Operation, accept?: Accept): Promise<BatchResult> {
    return this.on(name, accept, async (filter) =>
      tally(await this.membership.remove(counting(filter), items, operation), REMOVE),
    );
  }

  /** Adds items to a sync's input list. */
  keep(name: string, sync: string, items: Keys, operation: Operation): Promise<BatchResult> {
    return this.filters.withFilter(name, 'filter', async (filter) =>
      tally(await this.membership.keep(filter, sync, items, operation), KEEP),
    );
  }

  /** Throws REMOVAL_UNSUPPORTED for a standard filter. */
  count(name: string, items: Keys, deadline: number, accept?: Accept): Promise<BatchResult> {
    return this.on(name, accept, async (filter) =>
      tally(await this.membership.count(counting(filter), items, deadline), COUNT),
    );
  }

  private on<T>(
    name: string,
    accept: Accept | undefined,
    action: (filter: Filter) => Promise<T>,
  ): Promise<T> {
    return this.filters.withFilter(name, 'filter', (filter) => {
      accept?.(filter);
      return action(filter);
    });
  }
}

function counting(filter: Filter): Filter {
  if (filter.type === 'counting') return filter;
  throw new ProblemError(
    'REMOVAL_UNSUPPORTED',
    `"${filter.name}" is a standard filter, which cannot remove or count items; create a counting filter`,
  );
}
