import type { Filter } from '#store';
import { made, makeFilter } from './calls.js';
import { SyncCalls } from './sync-calls.js';
import type { Subject } from './subject.js';

type Renew = (subject: Pick<Subject, 'store'>, filter: Filter) => Promise<Filter>;

/** Changes to a visited set that make its handles stale. Each returns a current handle. */
export const RENEWALS: readonly (readonly [name: string, renew: Renew])[] = [
  [
    'the commit of a sync',
    async (subject, filter) => {
      const calls = new SyncCalls(subject);
      await calls.commit(filter, await calls.open(filter));
      return calls.current(filter);
    },
  ],
  ['a clear', ({ store }, { name, kind }) => store.clear(name, kind, made())],
  [
    'a set is dropped and created again',
    async ({ store }, { name, kind }) => {
      await store.drop(name, kind, made());
      return makeFilter(store, { name, kind });
    },
  ],
];
