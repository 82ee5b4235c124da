import type { Positions } from '#bloom';
import { joinAll } from '../../join-all.js';
import type { RedisFilter } from '../layout/filter.js';
import type { ItemCalls } from './item-calls.js';
import { type Chunk, dealChunks, segmentsOf } from '../layout/packing.js';
import type { Answer } from '../segments/segments.js';

/**
 * Runs a batch in chunks of at most `size` items: one after another in each segment, with segments in parallel. Answers
 * are in batch order.
 */
export async function perChunk(
  { spread, stack }: RedisFilter,
  positions: Positions,
  size: number,
  run: (chunk: Chunk) => Promise<Answer>,
): Promise<Uint8Array> {
  const results = new Uint8Array(positions.count);
  const dealt = dealChunks(segmentsOf(positions, stack.piecesOf(0)), spread, size);
  await joinAll(
    dealt.map(async (chunks) => {
      for (const chunk of chunks) {
        const { answers } = await run(chunk);
        if (answers.length !== chunk.indexes.length) {
          throw new Error(`a script returned ${answers.length} results, not ${chunk.indexes.length}`);
        }
        chunk.indexes.forEach((index, n) => (results[index] = answers.charCodeAt(n) - 48));
      }
    }),
  );
  return results;
}

/** How many of a batch's items each segment gets. */
export function countInSegments({ spread, stack }: RedisFilter, positions: Positions): Uint32Array {
  const counts = new Uint32Array(spread);
  for (const segment of segmentsOf(positions, stack.piecesOf(0)))
    counts[segment] = (counts[segment] as number) + 1;
  return counts;
}

/** For each segment, how many distinct items of a batch `isCounted` accepts. */
export function countDistinct(
  { spread, stack }: RedisFilter,
  positions: Positions,
  isCounted: (index: number) => boolean,
): Uint32Array {
  const counts = new Uint32Array(spread);
  const counted = new Set<string>();
  segmentsOf(positions, stack.piecesOf(0)).forEach((segment, i) => {
    const hash = positions.hash.subarray(i * 4, i * 4 + 4).join();
    if (!isCounted(i) || counted.has(hash)) return;
    counted.add(hash);
    counts[segment] = (counts[segment] as number) + 1;
  });
  return counts;
}

/**
 * For each segment, how many distinct items of a batch the sync's layers don't claim. `queued`: the items are from the
 * queue. Then expired items don't count, because they are not kept.
 */
export async function countUnlisted(
  itemCalls: ItemCalls,
  filter: RedisFilter,
  positions: Positions,
  deadline: number,
  queued = false,
): Promise<Uint32Array> {
  const { itemsPerScript, maxAgeSeconds } = filter;
  const listed = await perChunk(filter, positions, itemsPerScript, (chunk) =>
    itemCalls.listed(filter, positions, chunk, deadline),
  );
  if (!queued || maxAgeSeconds === undefined) return countDistinct(filter, positions, (i) => listed[i] === 0);
  // `check` finds items in either stack, so if an item is found but not listed, the filter's own layers have it.
  const seen = await perChunk(filter, positions, itemsPerScript, (chunk) =>
    itemCalls.read('check', filter, positions, chunk, deadline),
  );
  return countDistinct(filter, positions, (i) => listed[i] === 0 && seen[i] !== 0);
}
