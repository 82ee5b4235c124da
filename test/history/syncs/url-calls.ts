import { entriesOf, mayHaveDone, type Hold } from '../queue-entries.js';
import { eventsOf, type QueueAttempt } from '../queue-history.js';
import type { Doubts } from '../queue-doubts.js';
import { isVerb, wordsOf, type List, type SyncedAttempt, type SyncedEvent } from './synced-history.js';

/** The effect that one operation had, or may have had, on a URL. */
export interface UrlCall {
  readonly event: SyncedEvent;
  readonly start: number;
  /** Infinity if it never got an answer. */
  readonly end: number;
  readonly word: string | undefined;
  /** Whether the URL was seen before, according to the answer. Undefined if it doesn't tell. */
  readonly found: boolean | undefined;
}

export interface ListCall extends UrlCall {
  readonly sync: string;
}

export interface AddCall extends UrlCall {
  readonly ttlSeconds: number | undefined;
}

/** A discovery that may have queued a URL, with its entry's acknowledgements. */
export interface Queued {
  readonly call: UrlCall;
  readonly acks: readonly Pick<UrlCall, 'start' | 'end' | 'word'>[];
}

/** All calls on a URL in a set. Each list is in order of start. */
export interface UrlCalls {
  readonly url: string;
  readonly adds: readonly AddCall[];
  readonly lists: readonly ListCall[];
  readonly forgets: readonly UrlCall[];
  readonly checks: readonly UrlCall[];
  readonly queued: readonly Queued[];
}

type Growing = {
  -readonly [K in keyof UrlCalls]: UrlCalls[K] extends readonly (infer V)[] ? V[] : UrlCalls[K];
};

const FOUND: Readonly<Record<string, boolean>> = {
  ...{ seen: true, unseen: false, new: false, forgotten: true, absent: false, kept: true },
};

export function urlCallsOf(events: readonly SyncedEvent[], doubts: Doubts): UrlCalls[] {
  const urls = new Map<string, Growing>();
  const of = (url: string): Growing => {
    let calls = urls.get(url);
    if (!calls) urls.set(url, (calls = { url, adds: [], lists: [], forgets: [], checks: [], queued: [] }));
    return calls;
  };
  for (const event of events) {
    if (!isVerb(event, 'visit', 'discover', 'forget', 'check', 'list')) continue;
    const { operation, start, end } = event;
    const words = wordsOf(event);
    // A second execution after a failover may have found something else, at an unknown time.
    const isAnew = doubts.mayBeAnew(event);
    operation.urls.forEach((url, i) => {
      const word = isAnew ? undefined : words?.[i];
      const isListed = operation.verb === 'list';
      const found = word === undefined || (isListed && word === 'forgotten') ? undefined : FOUND[word];
      const call: UrlCall = { event, start, end: isAnew ? Infinity : end, word, found };
      if (operation.verb === 'check') of(url).checks.push(call);
      else if (operation.verb === 'forget') of(url).forgets.push(call);
      else if (operation.verb === 'list') of(url).lists.push({ ...call, sync: (operation as List).sync });
      else of(url).adds.push({ ...call, ttlSeconds: operation.ttlSeconds });
    });
  }
  for (const [url, { queued }] of queuedBy(events, of)) of(url).queued = queued;
  return [...urls.values()];
}

/** Uses the queue judge's reading of leases. */
function queuedBy(
  events: readonly SyncedEvent[],
  of: (url: string) => Growing,
): Map<string, { queued: Queued[] }> {
  const attempts = events
    .filter((event) => isVerb(event, 'discover', 'forget', 'lease', 'ack', 'release', 'extend'))
    .flatMap((event) => event.attempts);
  const queued = new Map<string, { queued: Queued[] }>();
  const discoveries = new Map<string, Hold[]>();
  for (const { of: url, discovery, holds } of entriesOf(eventsOf(queueAttempts(attempts)))) {
    if (discovery) discoveries.set(`${discovery.event.operation.id} ${url.url}`, holds);
  }
  for (const event of events) {
    if (!isVerb(event, 'discover')) continue;
    for (const url of event.operation.urls) {
      const call = of(url).adds.find((add) => add.event === event);
      if (!call || call.word === 'seen') continue;
      const holds = discoveries.get(`${event.operation.id} ${url}`) ?? [];
      const acks = holds
        .flatMap(({ settlings }) => settlings.filter((told) => mayHaveDone(told, 'ack')))
        .map(({ event: { start, end }, word }) => ({ start, end, word }));
      const known = queued.get(url) ?? { queued: [] };
      known.queued.push({ call, acks });
      queued.set(url, known);
    }
  }
  return queued;
}

/** Attempts with the queue's verbs, for the queue's rules. */
export function queueAttempts(attempts: readonly SyncedAttempt[]): QueueAttempt[] {
  return attempts.filter(({ operation }) =>
    ['discover', 'forget', 'lease', 'ack', 'release', 'extend'].includes(operation.verb),
  ) as QueueAttempt[];
}
