import { hostWords, segmentOf } from '#bloom';
import { deadlineIn } from '../../clock.js';
import { encodeEntryName } from '../../entry-id.js';
import {
  ENTRY_STATES,
  MAX_LEASED_BYTES,
  MAX_LISTED_ENTRIES,
  type EntryPage,
  type EntryQuery,
  type QueueEntry,
} from '../../port/index.js';
import type { RedisFilter } from '../layout/filter.js';
import {
  BEGAN_BYTES,
  entriesScript,
  LANES_PLACE_BYTES,
  SECTIONS,
  STATE_LETTERS,
} from '../scripts/entries.js';
import { HEAD_BYTES } from '../scripts/queue-state.js';
import type { Segments } from '../segments/segments.js';
import { readEntry } from './queue-entry.js';

/** Approximate number of entries that one script reads, and that one page has. */
const PER_SCRIPT = 200;
const PER_PAGE = 1_000;
/** Maximum number of scripts for a page. */
const MOST_SCRIPTS = 64;

/** A cursor: the first bytes of the generation (4), segment (4), and the place in it, empty at its beginning. */
const GENERATION_BYTES = 4;
const PLACE_AT = GENERATION_BYTES + 4;
const MAX_CURSOR = 72;

/** Bytes of the time at which an entry comes back. See entriesScript. */
const TIME_BYTES = 6;

interface Position {
  readonly segment: number;
  /** See entriesScript. */
  readonly place: Buffer;
}

const START = Buffer.alloc(0);

/** A page of entries, segment by segment. See Queue.entries. */
export async function readEntries(
  segments: Segments,
  filter: RedisFilter,
  query: EntryQuery,
  limit: number,
  after: string | undefined,
  timeoutMs: number,
): Promise<EntryPage> {
  const deadline = deadlineIn(timeoutMs);
  const { state, host } = query;
  const only = state === undefined ? '' : STATE_LETTERS[state];
  const sections = sectionsOf(query).map(({ letter }) => letter);
  const lane = host === undefined ? undefined : laneOf(filter, host);
  const most = Math.min(limit, MAX_LISTED_ENTRIES);
  // Keyed by id, because if Redis shrinks its table of lanes between two scripts, the second one may return a lane
  // again.
  const entries = new Map<string, QueueEntry>();
  let { segment, place } = positionOf(after, filter, query) ?? { segment: lane?.segment ?? 0, place: START };
  const end = lane ? lane.segment + 1 : filter.spread;
  let left = PER_PAGE;
  let bytes = MAX_LEASED_BYTES;
  for (let scripts = 0; segment < end; scripts++) {
    const wanted = Math.min(PER_SCRIPT, most - entries.size);
    if (wanted <= 0 || left <= 0 || bytes <= 0 || scripts === MOST_SCRIPTS)
      return { entries: [...entries.values()], next: cursorOf(filter, { segment, place }) };
    const looked = Math.min(PER_SCRIPT, left);
    const args = [
      ...[sections.join(''), place, wanted, looked, only, filter.maxAttempts ?? 0],
      ...(filter.perHost ? [lane?.id ?? ''] : []),
    ];
    const { answers } = await segments.readQueue(entriesScript, filter, segment, args, deadline);
    const placeEnd = 1 + answers.readUInt8();
    place = answers.subarray(1, placeEnd);
    left -= looked - answers.readUInt16BE(placeEnd);
    bytes -= answers.length;
    for (const entry of unpack(filter, answers.subarray(placeEnd + 2))) entries.set(entry.id, entry);
    if (place.length === 0) segment++;
  }
  return { entries: [...entries.values()] };
}

/** The parts of a segment's walk that may have entries in the queried state. */
function sectionsOf({ state }: EntryQuery): readonly (typeof SECTIONS)[number][] {
  return SECTIONS.filter(({ states }) => state === undefined || states.includes(STATE_LETTERS[state]));
}

/** A host's lane, which is in one segment. */
export function laneOf(filter: RedisFilter, host: string): { readonly id: Buffer; readonly segment: number } {
  const words = hostWords(host, filter.seed);
  const id = Buffer.alloc(8);
  for (const [n, word] of words.entries()) id.writeUInt32BE(word, 4 * n);
  return { id, segment: segmentIn(filter, id) };
}

/** The filter's segment for an item or a host, from the first words of its hash. */
export function segmentIn({ stack, geometry }: RedisFilter, hash: Buffer): number {
  return Math.floor(segmentOf(hash.readUInt32BE(), hash.readUInt32BE(4), geometry) / stack.piecesOf(0));
}

function* unpack(filter: RedisFilter, bytes: Buffer): Generator<QueueEntry, void, undefined> {
  const { generation, perHost } = filter;
  for (let at = 0; at < bytes.length;) {
    const placeEnd = at + 1 + bytes.readUInt8(at);
    const place = bytes.subarray(at + 1, placeEnd);
    const letter = String.fromCharCode(bytes.readUInt8(placeEnd));
    const state = ENTRY_STATES.find((each) => STATE_LETTERS[each] === letter);
    if (!state) throw new Error('a script returned an entry without a state');
    const timeAt = placeEnd + 1;
    const dueAt = bytes.readUIntBE(timeAt, TIME_BYTES);
    const reasonAt = timeAt + TIME_BYTES + 2;
    const reasonEnd = reasonAt + bytes.readUInt16BE(reasonAt - 2);
    const entryAt = reasonEnd + 2 + bytes.readUInt16BE(reasonEnd);
    const entry = readEntry(bytes, entryAt, perHost !== undefined);
    const { hash, birth, attempt, discoveredAt, payload, size } = entry;
    const hostWord = perHost ? bytes.readUInt32BE(entryAt + HEAD_BYTES) : 0;
    yield {
      id: encodeEntryName(generation, { hash, birth, hostWord, place }),
      ...{ payload: (payload as Buffer).toString(), state, attempt, discoveredAt },
      ...(dueAt > 0 && { dueAt }),
      ...(state === 'dead' && { reason: bytes.toString('utf8', reasonAt, reasonEnd) }),
      ...(perHost && { host: bytes.toString('utf8', reasonEnd + 2, entryAt) }),
    };
    at = entryAt + size;
  }
}

function cursorOf({ generation }: RedisFilter, { segment, place }: Position): string {
  const head = Buffer.alloc(PLACE_AT);
  head.write(generation, 0, GENERATION_BYTES, 'hex');
  head.writeUInt32BE(segment, GENERATION_BYTES);
  return Buffer.concat([head, place]).toString('base64url');
}

/** Returns undefined if the cursor belongs to another set or query. */
function positionOf(
  cursor: string | undefined,
  { generation, perHost }: RedisFilter,
  query: EntryQuery,
): Position | undefined {
  const bytes = Buffer.from(cursor?.slice(0, MAX_CURSOR) ?? '', 'base64url');
  if (bytes.length < PLACE_AT || !generation.startsWith(bytes.toString('hex', 0, GENERATION_BYTES)))
    return undefined;
  const segment = bytes.readUInt32BE(GENERATION_BYTES);
  const place = bytes.subarray(PLACE_AT);
  if (place.length === 0) return { segment, place };
  const letter = String.fromCharCode(place.readUInt8());
  const section = sectionsOf(query).find((each) => each.letter === letter);
  if (!section) return undefined;
  const ofLanes = letter === 'w' && perHost && query.host === undefined;
  const size = BEGAN_BYTES + (ofLanes ? LANES_PLACE_BYTES : section.placeBytes);
  return place.length === 1 + size ? { segment, place } : undefined;
}
