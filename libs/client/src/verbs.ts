import type {
  Batches,
  BatchRoute,
  CallOptions,
  ChangeOptions,
  ListOptions,
  Members,
  Verb,
} from './batches.js';
import type { Source } from './blocks.js';

/** Creates a route's verb. `members`: the options that go into the body. */
export function verb<Entry extends string | object, Result, Options extends CallOptions = ChangeOptions>(
  batches: Batches,
  route: BatchRoute,
  members: (options: Options) => Members = () => ({}),
): Verb<Entry, Result, Options> {
  const call = (
    entries: Entry | readonly Entry[] | Source<Entry>,
    options?: Options & ListOptions,
  ): unknown => {
    const given = options ?? ({} as Options & ListOptions);
    const sent = members(given);
    if (isOne(entries)) return batches.one<Result>(route, entries, sent, given);
    if (Array.isArray(entries)) return batches.array<Result>(route, entries as readonly Entry[], sent, given);
    return batches.all<Entry, Result>(route, entries as Source<Entry>, sent, given);
  };
  return call as Verb<Entry, Result, Options>;
}

function isOne<Entry extends string | object>(
  entries: Entry | readonly Entry[] | Source<Entry>,
): entries is Entry {
  if (typeof entries === 'string') return true;
  if (typeof entries !== 'object' || (entries as unknown) === null)
    throw new TypeError(`expected a string, an array or an iterable, not ${typeof entries}`);
  return !(Symbol.iterator in entries) && !(Symbol.asyncIterator in entries);
}
