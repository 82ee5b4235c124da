import { StoreError } from './errors.js';
import type { Filter, FilterSpec, Operation } from './store.js';
import { forgottenBy, type Sync } from './syncs.js';

/*
 * The errors that both stores raise in the same words, because callers do not know which store they use.
 */

export function notFound(name: string): StoreError {
  return new StoreError('FILTER_NOT_FOUND', `there is no filter ${name}`);
}

/** `how` says why the existing filter is in the way. */
function exists(
  existing: Pick<FilterSpec, 'name' | 'kind' | 'type' | 'semantics' | 'capacity' | 'errorRate'>,
  how: string,
): StoreError {
  const { name, kind, type, semantics, capacity, errorRate } = existing;
  const what = kind === 'filter' ? `a ${type} filter (${semantics})` : 'a visited set';
  return new StoreError(
    'FILTER_EXISTS',
    `${name} exists already ${how}: ${what}, capacity ${capacity}, errorRate ${errorRate}`,
  );
}

/** For a creation: the name belongs to another filter. */
export function otherExists(existing: Parameters<typeof exists>[0]): StoreError {
  return exists(existing, 'with other parameters');
}

/** For an import: the name is taken. */
export function taken(existing: Parameters<typeof exists>[0]): StoreError {
  return exists(existing, 'and is not overwritten');
}

/** `items` are in the filter, and `more` would be new. */
export function full(
  { name, capacity, layers }: Pick<Filter, 'name' | 'capacity' | 'layers'>,
  items: number,
  more: number,
) {
  const limit = layers
    ? `the room in its newest layer and those that it may grow to, ${layers.length} in all`
    : `twice its capacity of ${capacity}`;
  return new StoreError(
    'FILTER_FULL',
    `filter ${name} holds ${items} items; ${more} more would pass ${limit}; nothing was added. Forget items, or sync it to what is live, with a larger capacity`,
  );
}

/** A warning that names no filter, since everyone may read it. */
export function cannotGrow(filters: number): string {
  return `${filters === 1 ? 'a filter is' : `${filters} filters are`} nearly full, and there is no memory to grow`;
}

/** `doing` says what keeps the filter busy, as in "is creating". */
export function busy(name: string, doing: string): StoreError {
  return new StoreError('FILTER_BUSY', `filter ${name} ${doing}; try again`);
}

export function dataLost(name: string): StoreError {
  return new StoreError(
    'STORE_DATA_LOST',
    `filter ${name} has lost data: part of it is missing, cut short or outdated; restore it, clear it, or drop it`,
  );
}

export function keyReused({ id }: Operation): StoreError {
  return new StoreError(
    'IDEMPOTENCY_KEY_REUSED',
    `Idempotency-Key ${id} was used before with another request; nothing was changed`,
  );
}

export function keyExpired({ id }: Operation): StoreError {
  return new StoreError(
    'IDEMPOTENCY_KEY_EXPIRED',
    `Idempotency-Key ${id} is older than the record of its request; whether that was executed is not known any more, and nothing was changed now`,
  );
}

/** Throws TypeError for a standard filter, because callers know the filter's type. */
export function assertCounting({ name, type }: Filter): void {
  if (type !== 'counting') throw new TypeError(`filter ${name} is a standard one: it has no counters`);
}

/** Throws TypeError unless the filter has a queue and there is a payload for each of the `items` items. */
export function assertPayloads({ name, kind }: Filter, payloads: readonly string[], items: number): void {
  if (kind !== 'visited-set') throw new TypeError(`filter ${name} has no queue for payloads`);
  if (payloads.length !== items) throw new TypeError(`${payloads.length} payloads for ${items} items`);
}

export function syncNotFound(name: string, id: string): StoreError {
  return new StoreError('SYNC_NOT_FOUND', `filter ${name} has no sync ${id}`);
}

/** `existing` is open or committing. */
export function syncExists(name: string, existing: Pick<Sync, 'id' | 'state'>): StoreError {
  return new StoreError(
    'SYNC_EXISTS',
    `sync ${existing.id} of filter ${name} is ${existing.state}: commit it, or give it up, first`,
  );
}

/** It is no longer open. */
export function syncEnded(
  name: string,
  { id, state, reason }: Pick<Sync, 'id' | 'state' | 'reason'>,
): StoreError {
  const why = reason === undefined ? '' : `, since ${reason}`;
  return new StoreError('SYNC_ENDED', `sync ${id} of filter ${name} is ${state}${why}; nothing was changed`);
}

export function syncUnsupported({ name }: Pick<Filter, 'name'>): StoreError {
  return new StoreError(
    'SYNC_UNSUPPORTED',
    `filter ${name} is a multiset: a list does not say how often an item is in it`,
  );
}

/** A commit that would forget more than the share `most` of the items. */
export function syncWouldForget(
  name: string,
  sync: Pick<Sync, 'id' | 'items' | 'kept'>,
  most: number,
): StoreError {
  const percent = Math.round(most * 1000) / 10;
  return new StoreError(
    'SYNC_WOULD_FORGET',
    `sync ${sync.id} would forget ${forgottenBy(sync)} of the ${sync.items} items of ${name}, and ${percent} % are allowed; nothing was forgotten`,
  );
}

/** Reasons for which a sync is abandoned, as callers read them. */
export const ABANDONED = {
  caller: 'it was given up',
  idle: 'nobody called it for too long',
  forgets: 'more items were removed meanwhile than can be noted',
  full: 'it had no room left for what was added meanwhile',
  memory: 'there was no memory for it',
  lost: 'the store has lost a part of it',
} as const;

/** `hidden` items that were forgotten are live by the cells of others, and `most` may be. */
export function hidingFull(name: string, hidden: number, most: number): StoreError {
  return new StoreError(
    'STORE_FULL',
    `filter ${name} notes ${hidden} forgotten items whose counters others keep alive, and at most ${most}: nothing was forgotten. Try again when some have expired`,
  );
}

/** A call that no caller may make: a time to live in a filter that does not age, or one beyond its age. */
export function assertTtl({ name, maxAgeSeconds }: FilterSpec, ttlMs: number | undefined): void {
  if (ttlMs === undefined) return;
  if (maxAgeSeconds === undefined) throw new TypeError(`filter ${name} does not age`);
  if (!(ttlMs > 0 && ttlMs <= maxAgeSeconds * 1_000))
    throw new TypeError(`the items of filter ${name} live for up to ${maxAgeSeconds} s, not ${ttlMs} ms`);
}
