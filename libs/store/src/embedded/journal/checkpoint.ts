import { encodeBlock } from './block.js';
import type { Commits } from './commits.js';
import type { Database } from '../database/database.js';
import type { FilterState } from '../filters/filter-state.js';
import type { LayerState } from '../layers/layer-state.js';
import { JOURNAL_FIRST } from './journal.js';
import { blockKey, numberKey, readNumber } from '../database/keys.js';
import type { Memory } from '../filters/memory.js';

/**
 * True if a checkpoint is due. This keeps the journal, and so the time to load it, within a constant factor of the
 * cells.
 */
export function checkpointDue(memory: Memory, checkpointBytes: number): boolean {
  if (memory.journalBytes <= checkpointBytes) return false;
  let cells = 0;
  for (const state of memory.filters.values()) {
    for (const layer of state.layers) cells += layer.bytes;
  }
  return memory.journalBytes > cells / 2;
}

/**
 * A fuzzy checkpoint. It writes the blocks that are dirty now, one slice per transaction, while mutations continue.
 * Then it deletes the journal records that existed at the start. Each block names the last record that it includes, so
 * loading applies only later ones.
 */
export async function checkpoint(
  database: Database,
  commits: Commits,
  memory: Memory,
  blocksPerSlice = database.sizes.blocksPerSlice,
): Promise<void> {
  const { sequence: last, journalBytes: bytes } = memory;
  for (const state of [...memory.filters.values()]) {
    // If a layer opens during the checkpoint, the journal still has all its changes.
    for (const layer of state.lost ? [] : [...state.layers]) {
      const blocks = dirtyBlocks(layer);
      for (let at = 0; at < blocks.length; at += blocksPerSlice) {
        await commits.run(() =>
          writeBlocks(database, memory, state, layer, blocks.slice(at, at + blocksPerSlice)),
        );
      }
    }
  }
  const { recordsPerSlice } = database.sizes;
  while (memory.journalFirst <= last) {
    const next = Math.min(last + 1, memory.journalFirst + recordsPerSlice);
    await commits.run(() => cutJournal(database, memory.journalFirst, next));
    memory.journalFirst = next;
  }
  memory.journalBytes -= bytes;
}

function dirtyBlocks({ dirty }: LayerState): number[] {
  const blocks: number[] = [];
  for (let block = dirty.indexOf(1); block >= 0; block = dirty.indexOf(1, block + 1)) {
    blocks.push(block);
  }
  return blocks;
}

function writeBlocks(
  database: Database,
  memory: Memory,
  state: FilterState,
  layer: LayerState,
  blocks: number[],
): void {
  if (memory.filters.get(state.filter.name) !== state || state.layerOf(layer.number) !== layer) return;
  let firsts = 0;
  for (const block of blocks) {
    const key = blockKey(state.key, layer.number, block);
    database.blocks.putSync(key, encodeBlock(memory.sequence, layer.block(block)));
    layer.dirty[block] = 0;
    firsts += 1 - (layer.written[block] as number);
    layer.written[block] = 1;
  }
  if (firsts === 0) return;
  const count = database.blockCounts.get(state.key);
  database.blockCounts.putSync(state.key, numberKey((count ? readNumber(count) : 0) + firsts));
}

/** Deletes the records from `first` up to, but not including, `next`. */
function cutJournal(database: Database, first: number, next: number): void {
  for (let sequence = first; sequence < next; sequence++) database.journal.removeSync(numberKey(sequence));
  database.meta.putSync(JOURNAL_FIRST, numberKey(next));
}
