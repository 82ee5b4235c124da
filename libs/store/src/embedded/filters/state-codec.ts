import type { Geometry } from '#bloom';
import { CYCLE } from '../../age.js';
import { SYNC_NUMBERS, type FilterState } from './filter-state.js';
import type { LayerStack } from '../layers/layer-stack.js';
import { LOG_NUMBERS, packLogs, unpackLogs } from './logs.js';
import { HOST_NUMBERS, QUEUE_NUMBERS } from './queue-state.js';
import type { RecordScope, RecordWindow } from '../operations/record-window.js';

/**
 * A scope's state row, which every mutation in the scope writes. It has doubles at these indexes:
 *
 *   0-3 caller's window  4-7 window of generated ids  8 lost  9 last change  10-13 tally  14 number of layers
 *   15 number of the sync's layers
 *   16- numbers of the queue, numbers of the sync, ages, tallies of the layers. Ages and tallies of the sync come last.
 *       If there are several runs of segments, the items of each run follow the tally of the layer, or, in filters that
 *       age, its live cells by epoch.
 *
 * The scope of names has only windows. Only visited sets have numbers of a queue, and only filters with an open sync
 * have numbers of a sync.
 */
const LOST = 8;
const TALLY = 10;
const TALLY_FIELDS = ['added', 'duplicate', 'removed', 'refused'] as const;
const LAYERS = TALLY + TALLY_FIELDS.length;
const LAYER_FIELDS = ['items', 'nonZeroCells', 'saturatedCells'] as const;
/** Age fields for a filter or sync: its epoch, and the number of hidden items. */
const AGE_FIELDS = 2;
const SYNC_LAYERS = LAYERS + 1;
const QUEUE = SYNC_LAYERS + 1;

export function encodeState(state: FilterState): Buffer {
  const { tally, stack, sync, layers } = state;
  return row([
    ...windowFields(state),
    state.lost ? 1 : 0,
    state.lastChange,
    ...TALLY_FIELDS.map((name) => tally[name]),
    stack.layers.length,
    sync?.stack.layers.length ?? 0,
    ...packQueue(state),
    ...(sync ? SYNC_NUMBERS.map((name) => sync[name]) : []),
    ...state.stacks.flatMap(({ age }) => (age ? [age.epoch, age.hidden.size] : [])),
    ...layers.flatMap(({ tally, runs, expiringIn, expiring }) => [
      ...LAYER_FIELDS.map((name) => tally[name]),
      ...(expiringIn?.flatMap((one) => one.toArray()) ?? runs ?? []),
      ...(expiring?.toArray() ?? []),
    ]),
  ]);
}

/** Encodes the windows for the scope of names. */
export function encodeScope(scope: RecordScope): Buffer {
  return row(windowFields(scope));
}

/**
 * Decodes `bytes` into `state`. `allocate` provides zero cells for layers after the first. Returns false if `bytes`
 * isn't the state of a filter with these layers.
 */
export function decodeState(
  bytes: Buffer | undefined,
  state: FilterState,
  allocate: (geometry: Geometry) => Uint8Array[],
): boolean {
  const fields = bytes && numbers(bytes, bytes.length / 8);
  if (!fields) return false;
  const at = (i: number): number => fields[i] as number;
  const { sync } = state;
  const [layers, syncLayers] = [fields[LAYERS] ?? 0, fields[SYNC_LAYERS] ?? 0];
  const queued = queueFields(state, fields);
  const ages = QUEUE + queued + (sync ? SYNC_NUMBERS.length : 0);
  const ageing = state.stacks.flatMap(({ age }) => age ?? []);
  const tallies = ages + ageing.length * AGE_FIELDS;
  const width = layerFields(state.stack);
  if (fields.length !== tallies + (layers + syncLayers) * width) return false;
  if (!isWithin(layers, state.stack) || (sync ? !isWithin(syncLayers, sync.stack) : syncLayers !== 0))
    return false;
  state.windows = windowsOf(fields);
  state.lost = at(LOST) !== 0;
  state.lastChange = at(LOST + 1);
  decodeCalls(fields, state);
  if (sync) for (const [i, name] of SYNC_NUMBERS.entries()) sync[name] = at(QUEUE + queued + i);
  for (const [n, age] of ageing.entries()) {
    age.goOn(at(ages + n * AGE_FIELDS));
    age.stored = at(ages + n * AGE_FIELDS + 1);
  }
  decodeLayers(fields, tallies, state.stack, layers, allocate);
  if (sync) decodeLayers(fields, tallies + layers * width, sync.stack, syncLayers, allocate);
  return true;
}

/** Decodes the call counts and the queue's numbers into `state`. */
export function decodeQueue(bytes: Buffer | undefined, state: FilterState): void {
  const fields = bytes && numbers(bytes, bytes.length / 8);
  if (fields) decodeCalls(fields, state);
}

const QUEUE_AND_HOST_NUMBERS = [...QUEUE_NUMBERS, ...HOST_NUMBERS] as const;

function queueNumbers({ filter }: FilterState): typeof QUEUE_AND_HOST_NUMBERS | typeof QUEUE_NUMBERS | [] {
  if (filter.kind !== 'visited-set') return [];
  return filter.perHost ? QUEUE_AND_HOST_NUMBERS : QUEUE_NUMBERS;
}

/** A queue's numbers, how many logs it has, and each log's numbers. */
function packQueue(state: FilterState): number[] {
  const { queue } = state;
  const names = queueNumbers(state);
  if (names.length === 0) return [];
  return [...names.map((name) => queue[name]), queue.logs.length, ...packLogs(queue.logs)];
}

/** How many numbers `packQueue` has written. */
function queueFields(state: FilterState, fields: Float64Array): number {
  const names = queueNumbers(state);
  const logs = fields[QUEUE + names.length] ?? 0;
  return names.length === 0 ? 0 : names.length + 1 + logs * LOG_NUMBERS.length;
}

const layerFields = ({ age, first }: LayerStack) =>
  LAYER_FIELDS.length + (first.runs?.length ?? 0) * (age ? CYCLE : 1) + (age ? CYCLE : 0);

const isWithin = (layers: number, { plan }: LayerStack) => layers >= 1 && layers <= plan.length;

function decodeCalls(fields: Float64Array, state: FilterState): void {
  for (const [i, name] of TALLY_FIELDS.entries()) state.tally[name] = fields[TALLY + i] as number;
  const { queue } = state;
  const names = queueNumbers(state);
  if (names.length === 0) return;
  for (const [i, name] of names.entries()) queue[name] = fields[QUEUE + i] as number;
  const logs = fields.subarray(QUEUE + names.length + 1, QUEUE + queueFields(state, fields));
  queue.logs = unpackLogs([...logs]);
}

function decodeLayers(
  fields: Float64Array,
  from: number,
  stack: LayerStack,
  layers: number,
  allocate: (geometry: Geometry) => Uint8Array[],
): void {
  while (stack.layers.length < layers && stack.next) stack.grow(allocate(stack.next.geometry));
  const width = layerFields(stack);
  const epoch = stack.age?.epoch ?? 0;
  for (const [n, layer] of stack.layers.entries()) {
    const at = from + n * width;
    const { tally, runs, expiringIn, expiring } = layer;
    for (const [i, name] of LAYER_FIELDS.entries()) tally[name] = fields[at + i] as number;
    const behind = at + width - (expiring ? CYCLE : 0);
    const ofRuns = fields.subarray(at + LAYER_FIELDS.length, behind);
    if (!expiring) runs?.set(ofRuns);
    for (const [run, one] of expiringIn?.entries() ?? [])
      one.restore(epoch, ofRuns.subarray(run * CYCLE, (run + 1) * CYCLE));
    expiring?.restore(epoch, fields.subarray(behind, at + width));
    // Recounts the runs' items.
    if (expiringIn) layer.advance(epoch);
  }
}

/** Decodes the result of `encodeScope` into `scope`. No-op if `bytes` is absent. */
export function decodeScope(bytes: Buffer | undefined, scope: RecordScope): void {
  const fields = numbers(bytes, LOST);
  if (fields) scope.windows = windowsOf(fields);
}

function row(fields: readonly number[]): Buffer {
  return Buffer.from(Float64Array.from(fields).buffer);
}

function numbers(bytes: Buffer | undefined, count: number): Float64Array | undefined {
  if (bytes?.length !== count * 8) return undefined;
  return new Float64Array(Uint8Array.from(bytes).buffer);
}

function windowFields({ windows: { caller, made } }: RecordScope): number[] {
  return [caller, made].flatMap(({ number, startedAt, previousStartedAt, bytes }) => [
    number,
    startedAt,
    previousStartedAt,
    bytes,
  ]);
}

function windowsOf(fields: Float64Array): RecordScope['windows'] {
  return { caller: windowAtField(fields, 0), made: windowAtField(fields, 4) };
}

function windowAtField(fields: Float64Array, at: number): RecordWindow {
  return {
    number: fields[at] as number,
    startedAt: fields[at + 1] as number,
    previousStartedAt: fields[at + 2] as number,
    bytes: fields[at + 3] as number,
  };
}
