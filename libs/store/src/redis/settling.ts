import { decodeEntryId, type EntryId } from '../entry-id.js';
import { joinAll } from '../join-all.js';
import { type Operation, Settled } from '../store.js';
import type { RedisFilter } from './filter.js';
import { dealChunks } from './packing.js';
import type { Segments } from './segments.js';
import type { Script } from './scripts/script.js';

/** Ids that a script is given. Not to be edited, since chunks name operation records. */
const IDS_PER_SCRIPT = 500;

/** Bytes of an id as scripts are given it. */
const PACKED_ID_BYTES = 16;

/** A call on entries that are named by ids. */
export interface Settling {
  readonly script: Script;
  readonly verb: string;
  /** What the ids name; others are unknown. */
  readonly of: EntryId['of'];
  /** In front of the ids. */
  readonly args: readonly (string | number)[];
}

/** Has a script answer each id: those of a segment one chunk after the other, segments side by side. */
export async function settle(
  segments: Segments,
  filter: RedisFilter,
  ids: readonly string[],
  operation: Operation,
  { script, verb, of, args }: Settling,
): Promise<Uint8Array> {
  const { geometry, maxAttempts = 0 } = filter;
  const named = ids.map(decodeEntryId);
  // Ids that name nothing in a segment of this filter are unknown; they are not sent.
  const known = Uint32Array.from(named.keys()).filter((i) => {
    const id = named[i];
    return id?.of === of && id.segment < geometry.segments;
  });
  const results = new Uint8Array(ids.length).fill(Settled.Unknown);
  await segments.begin(filter, operation, verb);
  const owners = known.map((i) => named[i]?.segment ?? 0);
  await joinAll(
    dealChunks(owners, geometry.segments, IDS_PER_SCRIPT).map(async (chunks) => {
      for (const { segment, number, indexes } of chunks) {
        const places = Array.from(indexes, (index) => known[index] as number);
        const { answers } = await segments.change({
          script,
          filter,
          segment,
          operation,
          field: `${verb}:${operation.id}:${number}`,
          args: [maxAttempts, verb, ...args, packIds(places.map((i) => named[i] as EntryId))],
        });
        places.forEach((place, n) => (results[place] = answers.charCodeAt(n) - 48));
      }
    }),
  );
  return results;
}

function packIds(ids: readonly EntryId[]): Buffer {
  const packed = Buffer.allocUnsafe(ids.length * PACKED_ID_BYTES);
  ids.forEach(({ number, index, hashPrefix }, n) => {
    const at = n * PACKED_ID_BYTES;
    packed.writeUIntBE(number, at, 6);
    packed.writeUInt16BE(index, at + 6);
    packed.set(hashPrefix, at + 8);
  });
  return packed;
}
