import { Expiring } from '../../age.js';
import type { Clock } from '../../clock.js';
import { decodeBlock } from '../journal/block.js';
import { decodeEntry } from '../filters/catalogue-entry.js';
import type { Database } from '../database/database.js';
import { allocateCells } from '../layers/cell-memory.js';
import { FilterState, SyncState } from '../filters/filter-state.js';
import { readHidden } from '../filters/hidden-rows.js';
import { cleanPage, lowerAged, raiseAged } from '../items/aged-cells.js';
import { cellsOf, removeCounters } from '../items/packed-cells.js';
import {
  type AgedChange,
  AgedOperation,
  JOURNAL_FIRST,
  JOURNAL_LAST,
  JournalDecoder,
  JournalOperation,
  type JournalRecord,
} from '../journal/journal.js';
import { readBlockKey, readNumber, SEQUENCE_BYTES } from '../database/keys.js';
import type { LayerState } from '../layers/layer-state.js';
import { Memory } from '../filters/memory.js';
import { decodeScope, decodeState } from '../filters/state-codec.js';
import { readMarks } from '../filters/read-marks.js';
import { readRemovals } from '../filters/removals.js';

/** A filter while it is being loaded. */
interface Loading {
  readonly state: FilterState;
  /** By layer number, for each block: sequence number of the last journal record in the block. */
  readonly includes: ReadonlyMap<number, Float64Array>;
  /** Sequence number of the filter's last journal record so far. */
  lastRecord: number;
}

/**
 * Loads memory from the database: catalogue and states, then the checkpointed blocks, then the journal on top of them.
 * If a filter's data is missing or damaged, only that filter is lost. Throws DataFileError or DamagedRow if it can't
 * tell which filters exist.
 */
export function loadMemory(database: Database, clock: Clock): Memory {
  database.damage.assertBearable();
  const { sizes } = database;
  const memory = new Memory(clock, sizes.headRows);
  const now = clock.now();
  const loading = new Map<string, Loading>();
  for (const { key, value } of database.catalogue.getRange({})) {
    const { filter, sync, ...entry } = decodeEntry(value);
    const state = new FilterState(filter, allocateCells(filter.geometry), now, sizes);
    if (sync) {
      const cells = allocateCells(sync.plan.geometry);
      state.sync = new SyncState(sync, cells, filter.maxAgeSeconds, sizes);
    }
    Object.assign(state, entry);
    const damaged = database.damage.concerns(filter.generation);
    state.lost = damaged || !decodeState(database.states.get(state.key), state, allocateCells) || state.lost;
    memory.filters.set(key.toString(), state);
    const includes = new Map(
      state.layers.map(({ number, dirty }) => [number, new Float64Array(dirty.length)]),
    );
    loading.set(filter.generation, { state, includes, lastRecord: 0 });
    if (!state.lost && filter.kind === 'visited-set') state.lost = !readMarks(database, state);
    if (!state.lost) state.lost = !readRemovals(database, state) || !readHidden(database, state);
  }
  database.damage.assertKnown(new Set(loading.keys()));
  for (const { key, value } of database.credentials.getRange({})) {
    memory.credentials.set(key.toString(), value.toString());
  }
  decodeScope(database.states.get(memory.names.key), memory.names);
  loadBlocks(database, loading);
  replayJournal(database, memory, loading);
  return memory;
}

function loadBlocks(database: Database, loading: ReadonlyMap<string, Loading>): void {
  for (const { key, value } of database.blocks.all()) {
    const place = readBlockKey(key);
    const filter = place && loading.get(place.generation);
    if (!filter) continue;
    const { state } = filter;
    const { layer: number, block: index } = place;
    // An ended sync left these blocks behind. They will be deleted soon.
    if (state.isRetired(number)) continue;
    const layer = state.layerOf(number);
    const includes = filter.includes.get(number);
    const known = layer && includes && value && index < includes.length;
    const block = known ? decodeBlock(value, layer.block(index).length) : undefined;
    if (!known || !block) {
      state.lost = true;
      continue;
    }
    layer.block(index).set(block.cells);
    layer.written[index] = 1;
    includes[index] = block.sequence;
  }
  for (const { state } of loading.values()) {
    if (state.lost) continue;
    const count = database.blockCounts.get(state.key);
    let found = 0;
    for (const { written } of state.layers) found += written.reduce((sum, one) => sum + one, 0);
    if (found !== (count ? readNumber(count) : 0)) state.lost = true;
  }
}

/**
 * A filter is lost if its chain of records is broken or doesn't end with its last change. This doesn't affect other
 * filters.
 */
function replayJournal(database: Database, memory: Memory, loading: ReadonlyMap<string, Loading>): void {
  const first = database.meta.get(JOURNAL_FIRST);
  const last = database.meta.get(JOURNAL_LAST);
  memory.journalFirst = first ? readNumber(first) : 1;
  memory.sequence = last ? readNumber(last) : 0;
  const decoder = new JournalDecoder();
  for (const { key, value } of database.journal.all()) {
    const sequence = key.length === SEQUENCE_BYTES ? readNumber(key) : 0;
    if (sequence < memory.journalFirst || sequence > memory.sequence)
      memory.strayRecords.push(Buffer.from(key));
    const record = value && decoder.decode(value);
    memory.journalBytes += value?.length ?? 0;
    const filter = record && loading.get(record.generation);
    if (!filter || filter.state.lost) continue;
    const { state, lastRecord } = filter;
    if (record.previous >= memory.journalFirst && record.previous !== lastRecord) state.lost = true;
    else if (!replay(record, (filter.lastRecord = sequence), filter)) state.lost = true;
  }
  for (const { state, lastRecord } of loading.values()) {
    if (lastRecord !== (state.lastChange < memory.journalFirst ? 0 : state.lastChange)) state.lost = true;
  }
}

/**
 * Replays a record, except for changes in blocks that were checkpointed after it. Returns false if the layer does not
 * exist.
 */
function replay(record: JournalRecord, sequence: number, { state, includes }: Loading): boolean {
  if (record.operation === JournalOperation.None || state.isRetired(record.layer)) return true;
  const layer = state.layerOf(record.layer);
  const included = includes.get(record.layer);
  if (!layer || !included || (layer.expiring === undefined) !== (record.aged === undefined)) return false;
  const { pageCells } = layer.plan.geometry;
  const { add } = cellsOf(layer.plan.geometry);
  const { page, segment, cell, hashes: k, operation } = record;
  for (let i = 0; i < record.count; i++) {
    const s = segment[i] as number;
    const block = layer.blockOf(s, page[i] as number);
    if (sequence <= (included[block] as number)) continue;
    const bytes = layer.segments[s] as Uint8Array;
    layer.dirty[block] = 1;
    if (record.aged) {
      replayAged(record, record.aged, i, bytes, layer);
      continue;
    }
    const base = (page[i] as number) * pageCells;
    if (operation === JournalOperation.Add) add(bytes, base, cell, i * k, k);
    else removeCounters(bytes, base, cell, i * k, k);
  }
  return true;
}

/** Doesn't replay counts, since the filter's state has them. */
function replayAged(
  { operation, page, cell, hashes: k }: JournalRecord,
  { epoch, lasts }: Pick<AgedChange, 'epoch' | 'lasts'>,
  i: number,
  bytes: Uint8Array,
  { pageBytes, plan }: LayerState,
): void {
  const at = (page[i] as number) * pageBytes;
  const uncounted = Expiring.of(epoch);
  cleanPage(bytes, at, plan.geometry.pageCells, epoch);
  if (operation === AgedOperation.Remove) lowerAged(bytes, at, cell, i * k, k, uncounted);
  else {
    const counts = operation === AgedOperation.Add;
    raiseAged(bytes, at, cell, i * k, k, lasts[i] as number, counts, uncounted);
  }
}
