import type { EntryName } from '../../entry-id.js';
import { joinAll } from '../../join-all.js';
import { type Operation, Settled } from '../../port/index.js';
import { entryNames, packEntryNames } from '../layout/entry-names.js';
import type { RedisFilter } from '../layout/filter.js';
import { dealChunks } from '../layout/packing.js';
import { dropEntriesScript } from '../scripts/drop-entries.js';
import { scriptFor } from '../scripts/queue-state.js';
import type { Segments } from '../segments/segments.js';
import type { Sweeper } from '../segments/sweeper.js';
import { segmentIn } from './entry-pages.js';

/**
 * 100 ids take about 3 ms on Redis even if each entry is in a different lease. Must not change, because operation
 * records are named after chunks.
 */
const IDS_PER_SCRIPT = 100;

/** A script's answer for a dropped entry. */
const DROPPED = String(Settled.Done);

/** See Queue.drop. */
export async function dropEntries(
  segments: Segments,
  sweeper: Sweeper,
  filter: RedisFilter,
  ids: readonly string[],
  operation: Operation,
): Promise<Uint8Array> {
  const names = entryNames(filter, ids);
  // Ids that name no entry are unknown, so don't send them.
  const known = Uint32Array.from(names.keys()).filter((i) => names[i] !== undefined);
  const owners = known.map((i) => segmentIn(filter, Buffer.from((names[i] as EntryName).hash)));
  const results = new Uint8Array(ids.length).fill(Settled.Unknown);
  await segments.begin(filter, operation, 'drop');
  await joinAll(
    dealChunks(owners, filter.spread, IDS_PER_SCRIPT).map(async (chunks) => {
      for (const { segment, number, indexes } of chunks) {
        const places = indexes.map((index) => known[index] as number);
        const { answers, sweep } = await segments.change({
          script: scriptFor(filter, dropEntriesScript),
          filter,
          segment,
          operation,
          field: `drop:${operation.id}:${number}`,
          args: [packEntryNames(filter, names, places), segments.limits.maxMarks],
        });
        places.forEach((place, n) => (results[place] = answers.charCodeAt(n) - 48));
        if (answers.includes(DROPPED)) sweeper.marked(filter, [segment]);
        if (sweep) await sweeper.goOn(filter, segment, indexes.length, operation.deadline);
      }
    }),
  );
  return results;
}
