import { crc32 } from 'node:zlib';
import { cellsOf } from './batches.js';
import { BLOCK_HEADER, readBlockHeader } from './block.js';
import { decodeFilter } from './catalogue.js';
import { removeCounters } from './cells.js';
import type { Database } from './database.js';
import { allocateCells } from './cell-memory.js';
import { FilterState } from './filter-state.js';
import {
  JOURNAL_FIRST,
  JOURNAL_LAST,
  JournalDecoder,
  JournalOperation,
  type JournalRecord,
} from './journal.js';
import { GENERATION_BYTES, readNumber } from './keys.js';
import { Memory } from './memory.js';
import { decodeScope, decodeState } from './state-codec.js';
import { countLeases } from './queue-entry.js';

/** A filter while it is loaded. */
interface Loading {
  readonly state: FilterState;
  /** Per block: sequence number of the last journal record that it includes. */
  readonly includes: Float64Array;
}

/**
 * Memory as the database has it: catalogue and states, then the checkpointed blocks, then the journal on top of
 * them. A filter of which anything is missing is marked lost; the others are not affected.
 */
export function loadMemory(database: Database, now: number): Memory {
  const memory = new Memory(now);
  const loading = new Map<string, Loading>();
  for (const { key, value } of database.catalogue.getRange({})) {
    const filter = decodeFilter(value);
    const state = new FilterState(filter, allocateCells(filter.geometry), now);
    state.lost = !decodeState(database.states.get(state.key), state) || state.lost;
    memory.filters.set(key.toString(), state);
    loading.set(filter.generation, { state, includes: new Float64Array(state.dirty.length) });
    if (filter.kind === 'visited-set') countLeases(database, state);
  }
  for (const { key, value } of database.credentials.getRange({})) {
    memory.credentials.set(key.toString(), value.toString());
  }
  decodeScope(database.states.get(memory.names.key), memory.names);
  loadBlocks(database, loading);
  replayJournal(database, memory, loading);
  return memory;
}

function loadBlocks(database: Database, loading: ReadonlyMap<string, Loading>): void {
  for (const { key, value } of database.blocks.getRange({})) {
    const filter = loading.get(key.toString('hex', 0, GENERATION_BYTES));
    if (!filter) continue;
    const { state, includes } = filter;
    const index = key.readUInt32BE(GENERATION_BYTES);
    const cells = value.subarray(BLOCK_HEADER);
    const header = readBlockHeader(value);
    if (
      index >= includes.length ||
      cells.length !== state.block(index).length ||
      crc32(cells) !== header.crc
    ) {
      state.lost = true;
      continue;
    }
    state.block(index).set(cells);
    state.written[index] = 1;
    includes[index] = header.sequence;
  }
  for (const { state } of loading.values()) {
    const count = database.blockCounts.get(state.key);
    const found = state.written.reduce((sum, one) => sum + one, 0);
    if (found !== (count ? readNumber(count) : 0)) state.lost = true;
  }
}

/** Records are numbered without gaps; a filter that changed at or after a missing or broken one is lost. */
function replayJournal(database: Database, memory: Memory, loading: ReadonlyMap<string, Loading>): void {
  const first = database.meta.get(JOURNAL_FIRST);
  const last = database.meta.get(JOURNAL_LAST);
  memory.journalFirst = first ? readNumber(first) : 1;
  memory.sequence = last ? readNumber(last) : 0;
  const decoder = new JournalDecoder();
  let missing = Infinity;
  let next = memory.journalFirst;
  for (const { key, value } of database.journal.getRange({})) {
    const record = decoder.decode(value);
    if (!record || readNumber(key) !== next) missing = Math.min(missing, next);
    memory.journalBytes += value.length;
    const filter = record && loading.get(record.generation);
    if (filter && !filter.state.lost && missing === Infinity) replay(record, next, filter);
    next = readNumber(key) + 1;
  }
  if (next <= memory.sequence) missing = Math.min(missing, next);
  for (const { state } of loading.values()) {
    if (state.lastChange >= missing) state.lost = true;
  }
}

/** Makes a record's changes again, but for those in blocks that were checkpointed after it. */
function replay(record: JournalRecord, sequence: number, { state, includes }: Loading): void {
  const { pageCells } = state.filter.geometry;
  const { add } = cellsOf(state);
  const { page, segment, cell, hashes: k, operation } = record;
  for (let i = 0; i < record.count; i++) {
    const s = segment[i] as number;
    const block = state.blockOf(s, page[i] as number);
    if (sequence <= (includes[block] as number)) continue;
    const bytes = state.segments[s] as Uint8Array;
    const base = (page[i] as number) * pageCells;
    if (operation === JournalOperation.Add) add(bytes, base, cell, i * k, k);
    else removeCounters(bytes, base, cell, i * k, k);
    state.dirty[block] = 1;
  }
}
