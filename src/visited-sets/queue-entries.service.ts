import { createHash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import {
  MAX_LISTED_ENTRIES,
  Removed,
  Settled,
  type EntryQuery,
  type Filter,
  type Operation,
  type QueueEntry,
} from '#store';
import { invalid, unwanted } from '../errors/problem.js';
import { show } from '../errors/show.js';
import { turn } from '../event-loop/turn.js';
import { DEFAULT_PAGE } from '../filters/filter.dto.js';
import { Membership } from '../filters/membership.js';
import { OpenFilters } from '../filters/open-filters.js';
import { Store } from '../store/store.token.js';
import { ListCursor } from './list-cursor.js';
import { refuseHostOption } from '../filters/per-host.js';
import {
  MAX_LOOKED,
  type DropQueuedDto,
  type EntrySelectionDto,
  type QueuedUrlsQueryDto,
} from './queue-entries.dto.js';
import {
  queuedUrlView,
  type DroppedQueuedView,
  type QueuedUrlsView,
  type QueuedUrlView,
} from './queue-entries.view.js';
import { decodeQueued } from './queued-url.js';
import { UrlIdentity } from './url-identity.js';

/** An answer ends after this many characters of URLs and payloads. It can exceed this by one of the store's pages. */
const ENOUGH_LISTED = 2 ** 20;

/** A part of the queue: its matching entries, and the cursor for the rest. */
interface Part {
  readonly found: readonly QueueEntry[];
  readonly next: string | undefined;
}

/** A drop's results for some entries. */
interface Taken {
  readonly dropped: number;
  readonly forgotten: number;
}
const NOTHING: Taken = { dropped: 0, forgotten: 0 };

/** How far a drop has come in one generation of the set. */
interface Progress {
  readonly generation: string;
  matched: number;
  dropped: number;
  forgotten: number;
  /** The cursor for the rest. Absent at the start and at the end. */
  next: string | undefined;
  ended: boolean;
}

/** Results of `remove` for entries that need no more work. */
const SETTLED: readonly (number | undefined)[] = [Removed.Removed, Removed.Moved];

/** The entries that a caller selects, and the cursors for their list. */
interface Selected {
  readonly query: EntryQuery;
  readonly prefix: string;
  readonly list: ListCursor;
}

/** Where to read, and the maximum number of entries to find. */
interface Reading {
  readonly most: number;
  readonly cursor: string | undefined;
}

/** Shows people a queue's entries, in any state, and drops them. */
@Injectable()
export class QueueEntriesService {
  constructor(
    @Inject(Store) private readonly store: Store,
    private readonly filters: OpenFilters,
    private readonly membership: Membership,
    private readonly identity: UrlIdentity,
  ) {}

  list(name: string, { limit, cursor, ...selection }: QueuedUrlsQueryDto): Promise<QueuedUrlsView> {
    return this.filters.withFilter(name, 'visited-set', async (filter) => {
      const urls: QueuedUrlView[] = [];
      const selected = this.select(filter, selection);
      const { list } = selected;
      const reading = { most: Number(limit ?? DEFAULT_PAGE), cursor: list.open(cursor) };
      let next: string | undefined;
      let length = 0;
      for await (const part of this.parts(filter, selected, reading)) {
        ({ next } = part);
        for (const entry of part.found) {
          urls.push(queuedUrlView(entry));
          length += entry.payload.length;
        }
        if (length >= ENOUGH_LISTED) break;
      }
      return { urls, ...list.nextOf(next) };
    });
  }

  /** Drops the matching entries in a part of the queue. Skips entries that move after their page was read. */
  drop(name: string, dto: DropQueuedDto, operation: Operation): Promise<DroppedQueuedView> {
    const { all, forget = false, dryRun = false, limit = MAX_LOOKED, cursor, ...selection } = dto;
    refuseUnclear(all, selection);
    let progress: Progress | undefined;
    return this.filters.withFilter(name, 'visited-set', (filter) => {
      const selected = this.select(filter, selection);
      const { list } = selected;
      // The action runs again after a commit, and continues where it stopped. After a clear, it starts over.
      if (progress?.generation !== filter.generation) {
        const { generation } = filter;
        progress = { generation, next: list.open(cursor), ended: false, ...NOTHING, matched: 0 };
      }
      const done = progress;
      return this.once(filter, operation, async () => {
        const reading = { most: done.ended ? 0 : limit - done.matched, cursor: done.next };
        for await (const { found, next } of this.parts(filter, selected, reading)) {
          const taken = dryRun ? NOTHING : await this.take(filter, found, forget, operation);
          done.matched += found.length;
          done.dropped += taken.dropped;
          done.forgotten += taken.forgotten;
          done.next = next;
          done.ended = next === undefined;
        }
        const { matched, dropped, forgotten, next } = done;
        return { matched, dropped, ...(forget && { forgotten }), ...list.nextOf(next) };
      });
    });
  }

  /** Runs an operation's calls once. If an earlier attempt has finished them, returns the recorded answer. */
  private async once<T>(filter: Filter, operation: Operation, calls: () => Promise<T>): Promise<T> {
    const { queue } = this.store;
    const end = { ...operation, id: `${operation.id} end` };
    const known = operation.repeat ? await queue.recall(filter, end) : undefined;
    if (known !== undefined) return JSON.parse(known) as T;
    // From now on, a different request with this key fails. A generated id already depends on its request.
    if (operation.origin === 'caller') await queue.record(filter, operation, '');
    return JSON.parse(await queue.record(filter, end, JSON.stringify(await calls()))) as T;
  }

  /**
   * Drops entries that are still where they were found, and forgets their URLs if asked to. Returns how many it dropped
   * and forgot.
   */
  private async take(
    filter: Filter,
    found: readonly QueueEntry[],
    forget: boolean,
    operation: Operation,
  ): Promise<Taken> {
    if (found.length === 0) return NOTHING;
    const ids = found.map(({ id }) => id);
    const step = stepOf(operation, ids);
    if (!forget) return { dropped: await this.dropEntries(filter, ids, step), forgotten: 0 };
    // Forget first, which also removes the entries from the queue. If a drop came first and the rest failed, a repeat
    // wouldn't find the entries, and couldn't forget their URLs.
    const { keys, places } = await this.identity.identify(
      filter,
      found.map(({ payload }) => decodeQueued(payload).url),
    );
    const named = places.map((place) => ids[place] as string);
    const answers = await this.membership.remove(filter, keys, step, named);
    const settled = new Set(named.filter((_, i) => SETTLED.includes(answers[i])));
    const forgotten = countOf(answers, Removed.Removed);
    const left = ids.filter((id) => !settled.has(id));
    return { dropped: forgotten + (await this.dropEntries(filter, left, step)), forgotten };
  }

  /** Returns how many it dropped. */
  private async dropEntries(filter: Filter, ids: readonly string[], step: Operation): Promise<number> {
    if (ids.length === 0) return 0;
    return countOf(await this.store.queue.drop(filter, ids, step), Settled.Done);
  }

  private select(filter: Filter, { state, host, prefix = '' }: EntrySelectionDto): Selected {
    refuseHostOption(filter, 'host', host);
    const lane =
      host === undefined ? this.identity.hostOfPrefix(filter, prefix) : this.identity.hostIn(filter, host);
    return {
      query: { ...(state !== undefined && { state }), ...(lane !== undefined && { host: lane }) },
      prefix,
      list: new ListCursor(filter, 'urls', state, lane, prefix),
    };
  }

  /** Reads the queue page by page, up to MAX_LOOKED entries. Stops after `most` matching entries. */
  private async *parts(
    filter: Filter,
    { query, prefix }: Selected,
    { most, cursor }: Reading,
  ): AsyncGenerator<Part> {
    let wanted = most;
    let next = cursor;
    for (let pages = 0; pages < MAX_LOOKED / MAX_LISTED_ENTRIES && wanted > 0; pages++) {
      if (turn.isSpent()) await turn.next();
      const part = await this.part(filter, query, prefix, { most: wanted, cursor: next });
      yield part;
      if (part.next === undefined) return;
      ({ next } = part);
      wanted -= part.found.length;
    }
  }

  private async part(
    filter: Filter,
    query: EntryQuery,
    prefix: string,
    { most, cursor }: Reading,
  ): Promise<Part> {
    for (let size = prefix === '' ? Math.min(most, MAX_LISTED_ENTRIES) : MAX_LISTED_ENTRIES; ;) {
      const { entries, next } = await this.store.queue.entries(filter, query, size, cursor);
      const found = entries.filter(({ payload }) => decodeQueued(payload).url.startsWith(prefix));
      const last = found[most - 1];
      if (found.length <= most || last === undefined) return { found, next };
      // Cursors point only to the ends of pages, so read again with a page that ends at the last URL that fits.
      size = entries.indexOf(last) + 1;
    }
  }
}

const countOf = (answers: Uint8Array, answer: number): number =>
  answers.reduce((count, one) => count + Number(one === answer), 0);

/** Throws VALIDATION_FAILED unless the caller selects either the whole queue or a part of it. */
function refuseUnclear(all: true | undefined, { state, host, prefix }: EntrySelectionDto): void {
  const [part] = Object.entries({ state, host, prefix }).filter(([, value]) => value !== undefined);
  if (!all && !part)
    throw invalid(
      '#/all',
      'all is missing: to drop the whole queue, set all to true; otherwise select URLs with state, host or prefix',
    );
  if (all && part) throw unwanted('all', all, `${part[0]} ${show(part[1])} selects only a part of the queue`);
}

/**
 * The step of an operation that drops these entries. The ids are part of its id, so a repeat that finds other entries
 * doesn't get the answer for the first ones.
 */
function stepOf(operation: Operation, ids: readonly string[]): Operation {
  const digest = createHash('sha256').update(ids.join()).digest('base64url').slice(0, 22);
  return { ...operation, id: `${operation.id} ${digest}` };
}
