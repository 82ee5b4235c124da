import { decodeEntryId, type EntryId, hashPrefixAt } from '../../entry-id.js';
import { joinAll } from '../../join-all.js';
import { type Operation, Settled } from '../../port/index.js';
import type { RedisFilter } from '../layout/filter.js';
import { dealChunks } from '../layout/packing.js';
import type { Segments } from './segments.js';
import { LANES_PER_SCRIPT } from '../scripts/host-lanes.js';
import { type QueueScript, scriptFor } from '../scripts/queue-state.js';

/** Number of ids per script (500 took 1.1 ms). Must not change, since chunks name operation records. */
const IDS_PER_SCRIPT = 400;

const GROUP_BYTES = 8;
const ID_BYTES = 10;

/** A call on the entries that ids name. */
export interface Settling {
  readonly script: QueueScript;
  readonly verb: string;
  /** The kind of ids that the call accepts. Others are unknown. */
  readonly of: EntryId['of'];
  /** Arguments before the ids. */
  readonly args: readonly (string | number)[];
  /** Arguments after them, in sets with `perHost`. */
  readonly hostArgs?: readonly (string | number)[];
}

/** Runs the script on all ids: one chunk after another in each segment, with segments in parallel. */
export async function settle(
  segments: Segments,
  filter: RedisFilter,
  ids: readonly string[],
  operation: Operation,
  { script, verb, of, args, hostArgs = [] }: Settling,
): Promise<Uint8Array> {
  const { generation, spread, maxAttempts = 0, geometry, perHost } = filter;
  const named = ids.map((id) => decodeEntryId(generation, id));
  // Ids that can't name anything in this filter's segments are unknown, and not sent.
  const known = Uint32Array.from(named.keys()).filter((i) => {
    const id = named[i];
    return id?.of === of && id.segment < spread;
  });
  const results = new Uint8Array(ids.length).fill(Settled.Unknown);
  await segments.begin(filter, operation, verb);
  const owners = known.map((i) => named[i]?.segment ?? 0);
  await joinAll(
    dealChunks(owners, spread, perHost ? LANES_PER_SCRIPT : IDS_PER_SCRIPT).map(async (chunks) => {
      for (const { segment, number, indexes } of chunks) {
        const places = Array.from(indexes, (index) => known[index] as number);
        const { answers } = await segments.change({
          script: scriptFor(filter, script),
          filter,
          segment,
          operation,
          field: `${verb}:${operation.id}:${number}`,
          args: [
            ...[maxAttempts, verb, ...args],
            packIds(places.map((i) => named[i] as EntryId)),
            hashPrefixAt(geometry),
            ...(perHost ? hostArgs : []),
          ],
        });
        places.forEach((place, n) => (results[place] = answers.charCodeAt(n) - 48));
      }
    }),
  );
  return results;
}

/**
 * Packs ids. Consecutive ids of one lease form a group: the lease's number, how many ids follow, and for each the index
 * and hash prefix.
 */
function packIds(ids: readonly EntryId[]): Buffer {
  const packed = Buffer.allocUnsafe(ids.length * (GROUP_BYTES + ID_BYTES));
  let at = 0;
  let group = 0;
  ids.forEach(({ number, index, hashPrefix }, n) => {
    if (n === 0 || ids[n - 1]?.number !== number) {
      group = at;
      packed.writeUIntBE(number, at, 6);
      packed.writeUInt16BE(0, at + 6);
      at += GROUP_BYTES;
    }
    packed.writeUInt16BE(packed.readUInt16BE(group + 6) + 1, group + 6);
    packed.writeUInt16BE(index, at);
    packed.set(hashPrefix, at + 2);
    at += ID_BYTES;
  });
  return packed.subarray(0, at);
}
