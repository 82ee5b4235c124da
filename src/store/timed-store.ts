import {
  SYSTEM_CLOCK,
  type Counters,
  type Credentials,
  type Hosts,
  type Inspection,
  type Queue,
  type Store,
  type Syncs,
} from '#store';
import { inSpan } from '../tracing/trace.js';
import type { StoreListener } from './store-events.js';

/** The verbs for a facet's calls. */
type Verbs<T> = { readonly [K in keyof T]?: string };

/**
 * The calls whose times are measured. Not among them: `open`, which nearly always answers from a cache, `readiness`,
 * and calls that take as long as their caller or a timer wants (exports, imports, `tend`).
 */
const STORE: Verbs<Store> = {
  ...{ create: 'create', describe: 'describe', list: 'list', usage: 'usage', drop: 'delete', clear: 'clear' },
};
const COUNTERS: Verbs<Counters> = { add: 'add', check: 'check', remove: 'remove', count: 'count' };
const QUEUE: Verbs<Queue> = {
  ...{ lease: 'lease', ack: 'ack', release: 'release', extend: 'extend', entries: 'list-entries' },
  ...{ drop: 'drop-entries', deadLetters: 'list-dead-letters', putBack: 'put-back', purge: 'purge' },
};
const HOSTS: Verbs<Hosts> = { list: 'list-hosts', get: 'get-host', set: 'set-host', drop: 'drop-host' };
const SYNCS: Verbs<Syncs> = {
  ...{ open: 'open-sync', get: 'get-sync', keep: 'keep', commit: 'commit-sync', abandon: 'abandon-sync' },
};
const INSPECTION: Verbs<Inspection> = { explain: 'explain', sample: 'sample' };
const CREDENTIALS: Verbs<Credentials> = {
  ...{ put: 'put-key', replace: 'replace-key', list: 'list-keys', delete: 'delete-key' },
};

/** The same store, which tells `listener` how long each call takes. In a traced request, each call is a span. */
export function timedStore(store: Store, listener: StoreListener): Store {
  const timed = <T extends object>(target: T, verbs: Verbs<T>, more: object = {}): T =>
    Object.create(
      target,
      Object.getOwnPropertyDescriptors({ ...callsOf(target, verbs, listener), ...more }),
    ) as T;
  return timed(store, STORE, {
    counters: timed(store.counters, COUNTERS),
    queue: timed(store.queue, QUEUE),
    hosts: timed(store.hosts, HOSTS),
    syncs: timed(store.syncs, SYNCS),
    inspection: timed(store.inspection, INSPECTION),
    credentials: timed(store.credentials, CREDENTIALS),
  });
}

type Call = (...args: unknown[]) => Promise<unknown>;

function callsOf<T extends object>(
  target: T,
  verbs: Verbs<T>,
  listener: StoreListener,
): Record<string, Call> {
  return Object.fromEntries(
    Object.entries<string>(verbs as Record<string, string>).map(([name, verb]) => {
      const method = Reflect.get(target, name) as Call;
      const call: Call = (...args) => {
        const begin = SYSTEM_CLOCK.monotonic();
        const ended = (): void => listener.called(verb, SYSTEM_CLOCK.monotonic() - begin);
        const answer = inSpan(`store ${verb}`, () => method.apply(target, args));
        answer.then(ended, ended);
        return answer;
      };
      return [name, call];
    }),
  );
}
