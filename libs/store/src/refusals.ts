import { HOST_HASH_SCHEME } from '#bloom';
import { StoreError } from './errors.js';
import {
  type Filter,
  type FilterSpec,
  type Operation,
  forgottenBy,
  type LeaseLimits,
  type HostSettings,
  MAX_BLOCKED_UNTIL,
  MAX_HOST_BYTES,
  MAX_LEASE_MS,
  MAX_PER_HOST,
  MAX_SCHEDULE_MS,
  type PerHost,
  type Queued,
  type QueuedItem,
  type Sync,
  type SyncOutcome,
} from './port/index.js';
import { type Chosen, differences, type Existing } from './same-filter.js';

/* Errors that both stores throw with the same words. Callers don't know which store they use. */

/** Maximum number of characters of a value in a message. */
const MOST_SHOWN = 100;

/** The fields by which a message names a filter. */
export type Named = Pick<Filter, 'name' | 'kind'>;

const KINDS = { filter: 'filter', 'visited-set': 'visited set' } as const;

/** A filter's name in messages. */
export const called = ({ kind, name }: Named): string => `${KINDS[kind]} "${name}"`;

export function notFound(missing: Named): StoreError {
  return new StoreError('FILTER_NOT_FOUND', `${called(missing)} does not exist`);
}

/** `how` says why the existing filter is in the way. */
function exists(existing: Named, how: string): StoreError {
  return new StoreError(
    'FILTER_EXISTS',
    `${called(existing)} already exists${how}. Choose another name, or GET it to see all its parameters`,
  );
}

/** A creation failed because another filter has the name. */
export function otherExists(existing: Existing & Named, wanted: Chosen): StoreError {
  const { kind } = existing;
  if (kind !== wanted.kind)
    return exists(existing, `, and a ${KINDS[wanted.kind]} cannot have the same name`);
  const found = differences(existing, wanted).map(
    ({ parameter, ...values }) => `${parameter} is ${shown(values.existing)}, not ${shown(values.wanted)}`,
  );
  return exists(existing, ` with different parameters: ${found.join('; ')}`);
}

/** A parameter's value in a message. */
function shown(json = 'unset'): string {
  return json.length > MOST_SHOWN ? `${json.slice(0, MOST_SHOWN)}…` : json;
}

/** An import failed because the name is taken. */
export function taken({ name, kind, ...existing }: Named & Chosen): StoreError {
  const { type, semantics, capacity, errorRate } = existing;
  const what = kind === 'filter' ? `type ${type}, semantics "${semantics}", ` : '';
  return exists(
    { name, kind },
    ` with ${what}capacity ${capacity}, errorRate ${errorRate}; an import does not overwrite it`,
  );
}

/** The error for an add if the filter has `items` items and no room for `more` new ones. */
export function full(filter: Named & Pick<Filter, 'capacity' | 'layers'>, items: number, more: number) {
  const { capacity, layers } = filter;
  const remove = filter.kind === 'filter' ? 'Remove items' : 'Forget URLs';
  const limit = layers
    ? `the space left in its newest layer and any layers it can still add (maximum number of layers: ${layers.length})`
    : `twice its capacity of ${capacity}`;
  return new StoreError(
    'FILTER_FULL',
    `${called(filter)} holds ${items} items, and ${more} more would exceed ${limit}; none of them was added. ${remove}, or sync it with a larger capacity`,
  );
}

/** The error for a batch with `more` new URLs if their hosts have room for only `room`. */
export function hostsFull(filter: Named, room: number, more: number): StoreError {
  return new StoreError(
    'FILTER_FULL',
    `${called(filter)} has room for ${room} more URLs from these hosts, but the batch has ${more} new URLs; none of them was added. Forget URLs from these hosts, or sync the set with a larger capacity`,
  );
}

/** A warning that names no filter, since everyone may read it. */
export function cannotGrow(filters: number): string {
  return `${filters === 1 ? 'a filter is' : `${filters} filters are`} nearly full, and the store has no memory for another layer`;
}

/** `doing` is the reason why the filter is busy, such as "is being deleted". */
export function busy(filter: Named, doing: string): StoreError {
  return new StoreError('FILTER_BUSY', `${called(filter)} ${doing}; retry`);
}

export function dataLost(filter: Named): StoreError {
  return new StoreError(
    'STORE_DATA_LOST',
    `${called(filter)} has lost data: part of it is missing, truncated or outdated. Restore the data, or clear or delete the ${KINDS[filter.kind]}`,
    { isPublic: true },
  );
}

/** The error if a newer or older version wrote the data in Redis. `reads` is the layout that this version uses. */
export function otherLayout(version: string, reads: string): StoreError {
  const layout = version === '' ? 'an earlier key layout' : `key layout ${version}`;
  return new StoreError(
    'STORE_UNAVAILABLE',
    `Redis has data in ${layout}, and this version reads only key layout ${reads}. Start the version that wrote it, or use another Redis database`,
    { isPublic: true },
  );
}

export function keyReused({ id }: Operation): StoreError {
  return new StoreError(
    'IDEMPOTENCY_KEY_REUSED',
    `Idempotency-Key ${id} was already used for another request; nothing was changed. Send a new key`,
  );
}

export function keyExpired({ id }: Operation): StoreError {
  return new StoreError(
    'IDEMPOTENCY_KEY_EXPIRED',
    `the record of Idempotency-Key ${id} has expired, so the service can't tell whether the request ran; this attempt changed nothing. If you know that the request did not run, send it without the key`,
  );
}

/** Throws TypeError for a standard filter: the caller knows the type, so the call is a bug. */
export function assertCounting({ name, type }: Filter): void {
  if (type !== 'counting') throw new TypeError(`filter ${name} is a standard filter: it has no counters`);
}

/** Throws TypeError or RangeError unless the filter can queue a batch of `items` items that live for `ttlMs`. */
export function assertQueued(
  filter: Filter,
  { payloads, hosts, delayMs = 0 }: Queued,
  items: number,
  ttlMs = (filter.maxAgeSeconds ?? Infinity) * 1_000,
): void {
  if (payloads) assertPayloads(filter, payloads, items);
  if (payloads || hosts) assertHosts(filter, hosts, items);
  if (!(delayMs >= 0 && delayMs <= MAX_SCHEDULE_MS))
    throw new RangeError(`an entry can be scheduled for up to ${MAX_SCHEDULE_MS} ms, not ${delayMs}`);
  if (delayMs >= ttlMs)
    throw new TypeError(`the items live for ${ttlMs} ms, so entries cannot be scheduled for ${delayMs} ms`);
}

/** Throws TypeError or RangeError unless the set can schedule entries that are acknowledged. */
export function assertAgain({ name, maxAgeSeconds }: Filter, againAfterMs: number | undefined): void {
  if (againAfterMs === undefined) return;
  if (maxAgeSeconds !== undefined)
    throw new TypeError(`filter ${name} ages, so its entries cannot come back`);
  if (!(againAfterMs >= 1 && againAfterMs <= MAX_SCHEDULE_MS))
    throw new RangeError(`an entry can come back after 1 to ${MAX_SCHEDULE_MS} ms, not ${againAfterMs}`);
}

/** Throws TypeError unless the filter has a queue and each of the `items` items has a payload. */
function assertPayloads({ name, kind }: Filter, payloads: readonly string[], items: number): void {
  if (kind !== 'visited-set') throw new TypeError(`filter ${name} has no queue for payloads`);
  if (payloads.length !== items) throw new TypeError(`${payloads.length} payloads for ${items} items`);
}

/** Throws TypeError unless the filter has a queue and each of the `items` items has an entry id. */
export function assertEntryIds(
  { name, kind }: Filter,
  ids: readonly string[] | undefined,
  items: number,
): void {
  if (!ids) return;
  if (kind !== 'visited-set')
    throw new TypeError(`filter ${name} has no queue, so its items have no entries`);
  if (ids.length !== items) throw new TypeError(`${ids.length} ids of entries for ${items} items`);
}

/**
 * Throws TypeError unless a set with `perHost` gets each item's host name, and any other filter gets none. Throws
 * RangeError if a name is too long.
 */
export function assertHosts(
  { name, perHost }: Filter,
  hosts: readonly string[] | undefined,
  items: number,
): void {
  if (hosts && !perHost) throw new TypeError(`filter ${name} was created without perHost`);
  if (perHost && hosts?.length !== items)
    throw new TypeError(`${hosts?.length ?? 0} hosts for ${items} items`);
  for (const host of hosts ?? []) assertHostName(host);
}

function assertHostName(host: string): void {
  if (host.length <= MAX_HOST_BYTES / 3 || Buffer.byteLength(host) <= MAX_HOST_BYTES) return;
  throw new RangeError(`the name of a host has more than ${MAX_HOST_BYTES} bytes`);
}

/** Throws TypeError for a set without `perHost`. */
export function assertKnowsHosts({ name, perHost }: Filter): void {
  if (!perHost) throw new TypeError(`filter ${name} was created without perHost`);
}

/** Throws TypeError or RangeError for an invalid host name, or settings that a host can't have. */
export function assertHostSettings(
  { name, perHost }: FilterSpec,
  host: string,
  { own = {}, blockedUntil = 0 }: HostSettings,
): void {
  assertHostName(host);
  if (own.maxUrls !== undefined && perHost?.maxUrls === undefined)
    throw new TypeError(`a host can have maxUrls only if filter ${name} has maxUrls`);
  assertLimitsOfHosts(own, 0);
  if (!Number.isInteger(blockedUntil) || blockedUntil < 0 || blockedUntil > MAX_BLOCKED_UNTIL)
    throw new RangeError(
      `blockedUntil must be a whole number up to ${MAX_BLOCKED_UNTIL}, not ${blockedUntil}`,
    );
}

/** Throws TypeError if an exported entry lacks its host in a set with `perHost`. */
export function assertEntryHosts(
  { name, perHost }: Pick<Filter, 'name' | 'perHost'>,
  entries: readonly QueuedItem[],
): void {
  if (perHost && entries.some(({ host }) => host === undefined))
    throw new TypeError(`filter ${name} needs the host of each entry`);
}

/** Throws TypeError or RangeError for limits that a lease can't have. */
export function assertLimits({ name, perHost }: Filter, { maxPerHost }: LeaseLimits = {}): void {
  if (maxPerHost === undefined) return;
  if (!perHost) throw new TypeError(`filter ${name} was created without perHost`);
  if (!Number.isInteger(maxPerHost) || maxPerHost < 1)
    throw new RangeError(`maxPerHost must be a whole number from 1, not ${maxPerHost}`);
}

/** Throws TypeError or RangeError for a `perHost` that a filter can't have. */
export function assertPerHost({ name, kind, geometry, layers, perHost }: FilterSpec): void {
  if (!perHost) return;
  if (kind !== 'visited-set') throw new TypeError(`filter ${name} has no queue, so it cannot have perHost`);
  if (!layers) throw new TypeError(`${name} needs layers to have perHost`);
  if (geometry.hashScheme !== HOST_HASH_SCHEME)
    throw new TypeError(
      `${name} needs hash scheme ${HOST_HASH_SCHEME} to have perHost, not ${geometry.hashScheme}`,
    );
  assertLimitsOfHosts(perHost, 1);
}

/** Throws RangeError for limits that no host can have. */
function assertLimitsOfHosts(limits: PerHost, leastDelayMs: number): void {
  const least = { delayMs: leastDelayMs, maxLeased: 1, maxUrls: 1 } as const;
  const most = { delayMs: MAX_LEASE_MS, maxLeased: MAX_PER_HOST, maxUrls: MAX_PER_HOST } as const;
  for (const key of ['delayMs', 'maxLeased', 'maxUrls'] as const) {
    const value = limits[key];
    if (value === undefined || (Number.isInteger(value) && value >= least[key] && value <= most[key]))
      continue;
    throw new RangeError(
      `perHost.${key} must be a whole number from ${least[key]} to ${most[key]}, not ${value}`,
    );
  }
}

export function syncNotFound(filter: Named, id: string): StoreError {
  return new StoreError(
    'SYNC_NOT_FOUND',
    `${called(filter)} has no sync ${id}; GET the ${KINDS[filter.kind]} to see its sync`,
  );
}

/** The error for opening a sync while the sync `existing` is open or committing. */
export function syncExists(filter: Named, existing: Pick<Sync, 'id' | 'state'>): StoreError {
  const now = existing.state === 'open' ? 'commit or abandon it first' : 'wait until it has finished';
  return new StoreError(
    'SYNC_EXISTS',
    `sync ${existing.id} of ${called(filter)} is ${existing.state}: ${now}`,
  );
}

/** The error for a call on a sync that is no longer open. */
export function syncEnded(
  filter: Named,
  { id, state, reason }: Pick<Sync, 'id' | 'state' | 'reason'>,
): StoreError {
  const why = reason === undefined ? '' : ` because ${reason}`;
  return new StoreError(
    'SYNC_ENDED',
    `sync ${id} of ${called(filter)} is ${state}${why}; nothing was changed. Open another sync`,
  );
}

export function syncUnsupported(filter: Named): StoreError {
  return new StoreError(
    'SYNC_UNSUPPORTED',
    `${called(filter)} is a multiset and cannot be synced: a list does not say how many times each item was added. Remove items one by one, or clear the filter`,
  );
}

/** The error for a commit that would forget more than the share `most` of the items. */
export function syncWouldForget(
  filter: Named,
  sync: Pick<Sync, 'id' | 'items' | 'kept'>,
  most: number,
): StoreError {
  const percent = Math.round(most * 1000) / 10;
  return new StoreError(
    'SYNC_WOULD_FORGET',
    `sync ${sync.id} would forget ${forgottenBy(sync)} of the ${sync.items} items of ${called(filter)}, more than the allowed ${percent} %; nothing was forgotten. If the list is complete, commit with force or a larger maxForgetShare`,
  );
}

/** Reasons for abandoning a sync, as callers read them. */
export const ABANDONED = {
  caller: 'a caller abandoned it',
  idle: 'no request used it for too long',
  forgets: 'more items were removed during the sync than it can record',
  full: 'it had no room for all listed, added and queued items',
  memory: 'the store had no memory for it',
  lost: 'the store lost part of its data',
  opening: 'the service stopped while opening it',
} as const satisfies Partial<Record<SyncOutcome, string>>;

const OUTCOMES = new Map<string | undefined, SyncOutcome>(
  Object.entries(ABANDONED).map(([outcome, reason]) => [reason, outcome as keyof typeof ABANDONED]),
);

/** How a sync has ended. Undefined if another version of the service has abandoned it for a reason of its own. */
export function outcomeOf({ state, reason }: Pick<Sync, 'state' | 'reason'>): SyncOutcome | undefined {
  return state === 'committed' ? state : OUTCOMES.get(reason);
}

/** Error codes for layers that can't take more items. */
const NO_ROOM: readonly string[] = ['FILTER_FULL', 'STORE_FULL', 'QUOTA_EXCEEDED'];

/** True if a call failed because layers can't take more items. */
export function lacksRoom(error: unknown): boolean {
  return error instanceof StoreError && NO_ROOM.includes(error.code);
}

/** The error if the filter has `hidden` hidden items and the limit is `most`. */
export function hidingFull(filter: Named, hidden: number, most: number): StoreError {
  return new StoreError(
    'STORE_FULL',
    `${called(filter)} records ${hidden} forgotten items whose counters other items keep above zero, and the limit is ${most}; nothing was changed. Retry when some of them have expired`,
    { isPublic: true },
  );
}

/** The error for an import if its export has `hidden` hidden items and the limit is `most`. */
export function importHides(filter: Named, hidden: number, most: number): StoreError {
  return new StoreError(
    'STORE_FULL',
    `the export records at least ${hidden} forgotten items, and ${called(filter)} may record at most ${most}; nothing was imported. Export it again when some of them have expired`,
    { isPublic: true },
  );
}

/**
 * The error if the queue has `most` hosts in a segment, and no room for another. `segments`: how many segments have
 * this limit.
 */
export function noMoreHosts(filter: Named, most: number, segments = 1): StoreError {
  const where = segments > 1 ? " in this host's segment" : '';
  return new StoreError(
    'STORE_FULL',
    `the queue of ${called(filter)} has ${most} hosts${where}, which is the limit; nothing was changed. Drop other hosts' entries, or forget their URLs`,
    { isPublic: true },
  );
}

/** The error for an import if its export has `hosts` hosts in a segment and the limit is `most`. See noMoreHosts. */
export function importHosts(filter: Named, hosts: number, most: number, segments = 1): StoreError {
  const where = segments > 1 ? ' in a segment' : '';
  return new StoreError(
    'STORE_FULL',
    `the export has at least ${hosts} hosts${where}, and the queue of ${called(filter)} may have at most ${most}; nothing was imported. Settle or purge the last entries of some hosts, and export it again`,
    { isPublic: true },
  );
}

/** Throws TypeError for a time to live in a filter that does not age, or one beyond its maximum age. */
export function assertTtl({ name, maxAgeSeconds }: FilterSpec, ttlMs: number | undefined): void {
  if (ttlMs === undefined) return;
  if (maxAgeSeconds === undefined) throw new TypeError(`filter ${name} does not age`);
  if (!(ttlMs > 0 && ttlMs <= maxAgeSeconds * 1_000))
    throw new TypeError(`the items of filter ${name} live for up to ${maxAgeSeconds} s, not ${ttlMs} ms`);
}
