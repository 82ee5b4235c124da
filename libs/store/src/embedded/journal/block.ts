import { readNumber, writeNumber } from '../database/keys.js';

/**
 * Length of a checkpointed block's header, in bytes. It has the sequence number of the last journal record that the
 * block includes.
 */
export const BLOCK_HEADER = 8;

/** Encodes a block. `sequence` is the number of the last journal record that it includes. */
export function encodeBlock(sequence: number, cells: Uint8Array): Buffer {
  const value = Buffer.allocUnsafe(BLOCK_HEADER + cells.length);
  writeNumber(value, sequence, 0);
  value.set(cells, BLOCK_HEADER);
  return value;
}

/** Decodes a block. Returns undefined if the bytes aren't a block of `length` bytes. */
export function decodeBlock(
  value: Buffer,
  length: number,
): { sequence: number; cells: Uint8Array } | undefined {
  if (value.length !== BLOCK_HEADER + length) return undefined;
  return { sequence: readNumber(value), cells: value.subarray(BLOCK_HEADER) };
}
