import { createHash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import {
  MAX_LISTED_ENTRIES,
  Removed,
  type EntryQuery,
  type Filter,
  type Operation,
  type QueueEntry,
} from '#store';
import { invalid } from '../errors/problem.js';
import { turn } from '../event-loop/turn.js';
import { DEFAULT_PAGE } from '../filters/filter.dto.js';
import { Membership } from '../filters/membership.js';
import { OpenFilters } from '../filters/open-filters.js';
import { Store } from '../store/store.token.js';
import { refuseHostOption } from './per-host.js';
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

/**
 * Characters of URLs with their payloads after which an answer ends. A page of the store may exceed it by its own
 * length.
 */
const ENOUGH_LISTED = 2 ** 20;

/**
 * URLs to read at a time if they are forgotten: few, because a URL that a worker acknowledges between the two steps is
 * forgotten, too.
 */
const FORGOTTEN_AT_A_TIME = 200;

/** A part of the queue: the entries in it that match, and the cursor of the rest. */
interface Part {
  readonly found: readonly QueueEntry[];
  readonly next: string | undefined;
}

/** Where to read, and how much. */
interface Reading {
  /** The most entries to find. */
  readonly most: number;
  readonly cursor: string | undefined;
  /** The most entries to read at a time. Default: MAX_LISTED_ENTRIES. */
  readonly size?: number;
}

/** Shows people the entries of a queue, wherever they are, and drops them. */
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
      const reading = { most: Number(limit ?? DEFAULT_PAGE), cursor };
      let next: string | undefined;
      let length = 0;
      for await (const part of this.parts(filter, selection, reading)) {
        ({ next } = part);
        for (const entry of part.found) {
          urls.push(queuedUrlView(entry));
          length += entry.payload.length;
        }
        if (length >= ENOUGH_LISTED) break;
      }
      return { urls, ...(next !== undefined && { next }) };
    });
  }

  /**
   * Drops the matching entries of a part of the queue. A repeat reads the queue again, so it does not count entries
   * that its first attempt dropped, and also drops entries that are new since then.
   */
  drop(name: string, dto: DropQueuedDto, operation: Operation): Promise<DroppedQueuedView> {
    const { all, forget = false, dryRun = false, limit = MAX_LOOKED, cursor, ...selection } = dto;
    const { state, host, prefix } = selection;
    if ([all, state, host, prefix].every((member) => member === undefined))
      throw invalid(
        '#/all',
        'all must be true, but is missing: without state, host and prefix, this call drops the whole queue',
      );
    return this.filters.withFilter(name, 'visited-set', async (filter) => {
      let [matched, dropped, forgotten] = [0, 0, 0];
      const reading = { most: limit, cursor, ...(forget && { size: FORGOTTEN_AT_A_TIME }) };
      let next: string | undefined;
      for await (const part of this.parts(filter, selection, reading)) {
        ({ next } = part);
        matched += part.found.length;
        if (dryRun || part.found.length === 0) continue;
        forgotten += await this.take(filter, part.found, forget, operation);
        dropped += part.found.length;
      }
      return { matched, dropped, ...(forget && { forgotten }), ...(next !== undefined && { next }) };
    });
  }

  /** Drops entries, and forgets their URLs if asked to. Returns the number of forgotten URLs. */
  private async take(
    filter: Filter,
    found: readonly QueueEntry[],
    forget: boolean,
    operation: Operation,
  ): Promise<number> {
    const ids = found.map(({ id }) => id);
    const step = stepOf(operation, ids);
    if (!forget) {
      await this.store.queue.drop(filter, ids, step);
      return 0;
    }
    // Forgetting takes the entries out of the queue. It comes first, because a dropped entry is listed no more: a repeat
    // of a call that died in between could not forget its URL.
    const { keys, places } = await this.identity.identify(
      filter,
      found.map(({ payload }) => decodeQueued(payload).url),
    );
    const answers = await this.membership.remove(filter, keys, step);
    const gone = new Set(places.filter((_, i) => answers[i] === Removed.Removed));
    const left = ids.filter((_, i) => !gone.has(i));
    if (left.length > 0) await this.store.queue.drop(filter, left, step);
    return gone.size;
  }

  /**
   * Reads the queue page by page, at most MAX_LOOKED entries of it. Finds at most `most` entries, and ends behind the
   * last one.
   */
  private async *parts(
    filter: Filter,
    { state, host, prefix = '' }: EntrySelectionDto,
    { most, cursor, size = MAX_LISTED_ENTRIES }: Reading,
  ): AsyncGenerator<Part> {
    refuseHostOption(filter, 'host', host);
    const lane =
      host === undefined ? this.identity.hostOfPrefix(filter, prefix) : this.identity.hostIn(filter, host);
    const query = { ...(state !== undefined && { state }), ...(lane !== undefined && { host: lane }) };
    let wanted = most;
    let next = cursor;
    for (let pages = 0; pages < MAX_LOOKED / size && wanted > 0; pages++) {
      if (turn.isSpent()) await turn.next();
      const part = await this.part(filter, query, prefix, { most: wanted, cursor: next, size });
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
    { most, cursor, size: full = MAX_LISTED_ENTRIES }: Reading,
  ): Promise<Part> {
    for (let size = prefix === '' ? Math.min(most, full) : full; ;) {
      const { entries, next } = await this.store.queue.entries(filter, query, size, cursor);
      const found = entries.filter(({ payload }) => decodeQueued(payload).url.startsWith(prefix));
      const last = found[most - 1];
      if (found.length <= most || last === undefined) return { found, next };
      // Reads again, up to the last URL that fits, because cursors point to the ends of pages only.
      size = entries.indexOf(last) + 1;
    }
  }
}

/**
 * The step of an operation that drops these entries. Its id depends on them, so a repeat that finds other entries does
 * not get the answer for the first ones.
 */
function stepOf(operation: Operation, ids: readonly string[]): Operation {
  const digest = createHash('sha256').update(ids.join()).digest('base64url').slice(0, 22);
  return { ...operation, id: `${operation.id} ${digest}` };
}
