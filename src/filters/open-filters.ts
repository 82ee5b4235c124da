import { Inject, Injectable } from '@nestjs/common';
import { StaleFilterError, StoreError, type Filter, type FilterKind } from '#store';
import { notFound } from '../errors/not-found.js';
import { ProblemError } from '../errors/problem.js';
import { Store } from '../store/store.token.js';

/** Maximum number of attempts for a call. It fails if the filter is cleared during each of them. */
const ATTEMPTS = 3;

/** Opens filters by name, and repeats calls on stale generations. */
@Injectable()
export class OpenFilters {
  constructor(@Inject(Store) private readonly store: Store) {}

  /** Throws FILTER_NOT_FOUND or VISITED_SET_NOT_FOUND, depending on the kind. */
  async open(name: string, kind: FilterKind, options?: { fresh?: boolean }): Promise<Filter> {
    try {
      return await this.store.open(name, kind, options);
    } catch (error) {
      throw inWordsOf(kind, name, error);
    }
  }

  /**
   * Runs `action` on the filter as it is now. A call to the store may find that a clear or a commit has replaced the
   * filter. That call changes nothing, and the action runs again. Positions and URL keys belong to a generation, so the
   * action must compute them itself. An action that makes several calls must remember which it has made.
   */
  async withFilter<T>(name: string, kind: FilterKind, action: (filter: Filter) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await action(await this.store.open(name, kind, { fresh: attempt > 1 }));
      } catch (error) {
        if (!(error instanceof StaleFilterError) || attempt === ATTEMPTS) throw inWordsOf(kind, name, error);
      }
    }
  }
}

/**
 * Rewords a store error for callers. The port knows only filters, and some of its messages about lost data may name the
 * store's keys. Callers get the name of the filter or set instead.
 */
export function inWordsOf(kind: FilterKind, name: string, error: unknown): unknown {
  if (!(error instanceof StoreError)) return error;
  if (error.code === 'STORE_DATA_LOST' && !error.isPublic) {
    const words = kind === 'filter' ? 'filter' : 'visited set';
    return new ProblemError(
      'STORE_DATA_LOST',
      `the store has lost data for ${words} "${name}". Restore the data, or clear or delete the ${words}`,
      { cause: error },
    );
  }
  return error.code === 'FILTER_NOT_FOUND' ? notFound(kind, name) : error;
}
