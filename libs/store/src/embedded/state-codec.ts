import type { Geometry } from '#bloom';
import type { FilterState } from './filter-state.js';
import { QUEUE_NUMBERS } from './queue/queue-state.js';
import type { RecordScope, RecordWindow } from './record-window.js';

/**
 * The small state of a scope, which is written with every mutation of it: a row of doubles.
 *
 *   0-3 caller's window  4-7 window of made ids  8 lost  9 last change  10-13 tally  14 number of layers
 *   15- numbers of the queue, then the tally of each layer
 *
 * The names have windows only; filters that are no visited sets have no queue.
 */
const LOST = 8;
const TALLY = 10;
const TALLY_FIELDS = ['added', 'duplicate', 'removed', 'refused'] as const;
const LAYERS = TALLY + TALLY_FIELDS.length;
const LAYER_FIELDS = ['items', 'nonZeroCells', 'saturatedCells'] as const;
const QUEUE = LAYERS + 1;

/** Encodes the state of a filter's generation. */
export function encodeState(state: FilterState): Buffer {
  const { tally, queue, filter, layers } = state;
  return row([
    ...windowFields(state),
    state.lost ? 1 : 0,
    state.lastChange,
    ...TALLY_FIELDS.map((name) => tally[name]),
    layers.length,
    ...(filter.kind === 'visited-set' ? QUEUE_NUMBERS.map((name) => queue[name]) : []),
    ...layers.flatMap((layer) => LAYER_FIELDS.map((name) => layer.tally[name])),
  ]);
}

/** Encodes the windows of a scope that is no filter. */
export function encodeScope(scope: RecordScope): Buffer {
  return row(windowFields(scope));
}

/**
 * Puts the state in `bytes` into `state`, with layers of zero cells from `allocate` beside the first. False if `bytes`
 * hold none.
 */
export function decodeState(
  bytes: Buffer | undefined,
  state: FilterState,
  allocate: (geometry: Geometry) => Uint8Array[],
): boolean {
  const queued = state.filter.kind === 'visited-set' ? QUEUE_NUMBERS : [];
  const tallies = QUEUE + queued.length;
  const fields = bytes && numbers(bytes, bytes.length / 8);
  const layers = fields?.[LAYERS] ?? 0;
  if (fields?.length !== tallies + layers * LAYER_FIELDS.length) return false;
  if (layers < 1 || layers > state.plan.length) return false;
  const at = (i: number): number => fields[i] as number;
  state.windows = windowsOf(fields);
  state.lost = at(LOST) !== 0;
  state.lastChange = at(LOST + 1);
  for (const [i, name] of TALLY_FIELDS.entries()) state.tally[name] = at(TALLY + i);
  for (const [i, name] of queued.entries()) state.queue[name] = at(QUEUE + i);
  while (state.layers.length < layers && state.next) state.grow(allocate(state.next.geometry));
  for (const [number, { tally }] of state.layers.entries()) {
    const from = tallies + number * LAYER_FIELDS.length;
    for (const [i, name] of LAYER_FIELDS.entries()) tally[name] = at(from + i);
  }
  return true;
}

/** Puts what encodeScope wrote into `scope`; nothing if there is none. */
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
