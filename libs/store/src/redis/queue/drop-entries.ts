import { decodeEntryName, type EntryName } from '../../entry-id.js';
import { joinAll } from '../../join-all.js';
import { Settled, type Operation } from '../../port/index.js';
import type { RedisFilter } from '../layout/filter.js';
import { dealChunks } from '../layout/packing.js';
import { dropEntriesScript } from '../scripts/drop-entries.js';
import { scriptFor } from '../scripts/queue-state.js';
import type { Segments } from '../segments/segments.js';
import type { Sweeper } from '../segments/sweeper.js';
import { segmentIn } from './entry-pages.js';

/** Must not change, since chunks name operation records. */
const IDS_PER_SCRIPT = 400;
const HASH_BYTES = 16;
const NAME_BYTES = 6 + HASH_BYTES + 4;

/** See Queue.drop. */
export async function dropEntries(
  segments: Segments,
  sweeper: Sweeper,
  filter: RedisFilter,
  ids: readonly string[],
  operation: Operation,
): Promise<Uint8Array> {
  const names = ids.flatMap((id) => decodeEntryName(filter.generation, id) ?? []);
  const owners = Uint32Array.from(names, ({ hash }) => segmentIn(filter, Buffer.from(hash)));
  await segments.begin(filter, operation, 'drop');
  await joinAll(
    dealChunks(owners, filter.spread, IDS_PER_SCRIPT).map(async (chunks) => {
      for (const { segment, number, indexes } of chunks) {
        const { sweep } = await segments.change({
          script: scriptFor(filter, dropEntriesScript),
          filter,
          segment,
          operation,
          field: `drop:${operation.id}:${number}`,
          args: [pack(names, indexes), segments.limits.maxMarks],
        });
        sweeper.marked(filter, [segment]);
        if (sweep) await sweeper.goOn(filter, segment, indexes.length, operation.deadline);
      }
    }),
  );
  return new Uint8Array(ids.length).fill(Settled.Done);
}

/** See dropEntriesScript. */
function pack(names: readonly EntryName[], indexes: Uint32Array): Buffer {
  const packed = Buffer.alloc(indexes.length * NAME_BYTES);
  for (const [n, index] of indexes.entries()) {
    const { hash, birth, hostWord } = names[index] as EntryName;
    const at = packed.writeUIntBE(birth, n * NAME_BYTES, 6);
    packed.set(hash, at);
    packed.writeUInt32BE(hostWord, at + HASH_BYTES);
  }
  return packed;
}
