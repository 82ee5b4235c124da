import { encodeEntryId, decodeEntryId, hashPrefixOf, type EntryId } from '../../entry-id.js';
import type { Filter } from '../../port/index.js';
import type { Entry } from './entry.js';

/** The embedded store has one queue per visited set, regardless of its segments. */
const SEGMENT = 0;

/** The id of an entry in a lease, or of a dead letter. */
export function idOf(
  of: EntryId['of'],
  number: number,
  index: number,
  { hash }: Entry,
  { generation, geometry }: Filter,
): string {
  const hashPrefix = hashPrefixOf(hash, geometry);
  return encodeEntryId(generation, { of, segment: SEGMENT, number, index, hashPrefix });
}

/** True if this id can name this entry. */
export function isOf({ hashPrefix }: EntryId, { hash }: Entry, { geometry }: Filter): boolean {
  return hashPrefixOf(hash, geometry).every((byte, i) => byte === hashPrefix[i]);
}

/**
 * The entry that an id names. Undefined for an id that the store hasn't issued. Numbers from `next` on are not in use
 * yet.
 */
export function namedBy(
  id: string,
  of: EntryId['of'],
  next: number,
  { generation }: Filter,
): EntryId | undefined {
  const named = decodeEntryId(generation, id);
  const given = named?.of === of && named.segment === SEGMENT && named.number > 0 && named.number < next;
  return given ? named : undefined;
}

/** Number of the dead letter that an id names or, if it names none, 0. */
export function deadLetterNumber(id: string | undefined, { generation }: Filter): number {
  const named = id === undefined ? undefined : decodeEntryId(generation, id);
  return named?.of === 'dead-letter' ? named.number : 0;
}
