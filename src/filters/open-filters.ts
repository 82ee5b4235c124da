import { Inject, Injectable } from '@nestjs/common';
import { StaleFilterError, StoreError, type Filter, type FilterKind } from '#store';
import { notFound } from '../errors/not-found.js';
import { ProblemError } from '../errors/problem.js';
import { Store } from '../store/store.token.js';

/** Times a call is begun: a filter cleared between every two of them is busy. */
const ATTEMPTS = 3;

/** Opens filters by name and keeps callers off outdated generations of them. */
@Injectable()
export class OpenFilters {
  constructor(@Inject(Store) private readonly store: Store) {}

  /** FILTER_NOT_FOUND or VISITED_SET_NOT_FOUND, by the kind asked for. */
  async open(name: string, kind: FilterKind, fresh = false): Promise<Filter> {
    return this.store.open(name, kind, { fresh }).catch((error: unknown) => {
      throw inWordsOf(kind, name, error);
    });
  }

  /**
   * `action` on the current generation. When the filter turns out to have a new one, nothing was changed, and the action
   * is done again on that: positions and URL keys belong to a generation, so it has to compute them itself.
   */
  async withFilter<T>(name: string, kind: FilterKind, action: (filter: Filter) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const filter = await this.open(name, kind, attempt > 1);
      try {
        return await action(filter);
      } catch (error) {
        if (!(error instanceof StaleFilterError) || attempt === ATTEMPTS) throw inWordsOf(kind, name, error);
      }
    }
  }
}

/** The port knows filters only, and its words for lost data may name keys: callers are told the filter's name. */
export function inWordsOf(kind: FilterKind, name: string, error: unknown): unknown {
  if (!(error instanceof StoreError)) return error;
  if (error.code === 'STORE_DATA_LOST') {
    return new ProblemError('STORE_DATA_LOST', `the store has lost data of "${name}"`, { cause: error });
  }
  return error.code === 'FILTER_NOT_FOUND' ? notFound(kind, name) : error;
}
