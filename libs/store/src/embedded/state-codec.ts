import type { FilterState } from './filter-state.js';
import type { RecordScope, RecordWindow } from './record-window.js';

/**
 * The small state of a scope, which is written with every mutation of it: a row of doubles.
 *
 *   0 lost  1 last change  2-8 tally  9-11 queue  12-15 caller's window  16-19 window of made ids
 */
const FIELDS = 20;

/** Encodes the state of a filter's generation. */
export function encodeState(state: FilterState): Buffer {
  const { tally, queue, windows } = state;
  return row([
    state.lost ? 1 : 0,
    state.lastChange,
    tally.items,
    tally.nonZeroCells,
    tally.saturatedCells,
    tally.added,
    tally.duplicate,
    tally.removed,
    tally.refused,
    queue.entries,
    queue.nextSequence,
    queue.nextLease,
    ...windowFields(windows.caller),
    ...windowFields(windows.made),
  ]);
}

/** Encodes the scope of names, which has only windows. */
export function encodeScope(scope: RecordScope): Buffer {
  const { caller, made } = scope.windows;
  return row([...new Array<number>(12).fill(0), ...windowFields(caller), ...windowFields(made)]);
}

/** Puts the state in `bytes` into `state`. False if `bytes` hold none. */
export function decodeState(bytes: Buffer | undefined, state: FilterState): boolean {
  const fields = numbers(bytes);
  if (!fields) return false;
  const at = (i: number): number => fields[i] as number;
  state.lost = at(0) !== 0;
  state.lastChange = at(1);
  Object.assign(state.tally, {
    items: at(2),
    nonZeroCells: at(3),
    saturatedCells: at(4),
    added: at(5),
    duplicate: at(6),
    removed: at(7),
    refused: at(8),
  });
  Object.assign(state.queue, { entries: at(9), nextSequence: at(10), nextLease: at(11) });
  state.windows = { caller: windowAtField(fields, 12), made: windowAtField(fields, 16) };
  return true;
}

export function decodeScope(bytes: Buffer | undefined, scope: RecordScope): void {
  const fields = numbers(bytes);
  if (fields) scope.windows = { caller: windowAtField(fields, 12), made: windowAtField(fields, 16) };
}

function row(fields: readonly number[]): Buffer {
  return Buffer.from(Float64Array.from(fields).buffer);
}

function numbers(bytes: Buffer | undefined): Float64Array | undefined {
  if (bytes?.length !== FIELDS * 8) return undefined;
  return new Float64Array(Uint8Array.from(bytes).buffer);
}

function windowFields(window: RecordWindow): number[] {
  return [window.number, window.startedAt, window.previousStartedAt, window.bytes];
}

function windowAtField(fields: Float64Array, at: number): RecordWindow {
  return {
    number: fields[at] as number,
    startedAt: fields[at + 1] as number,
    previousStartedAt: fields[at + 2] as number,
    bytes: fields[at + 3] as number,
  };
}
