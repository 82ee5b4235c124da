import { crc32 } from 'node:zlib';
import { readNumber, writeNumber } from './keys.js';

/** A checkpointed block: the last sequence number it includes (8 bytes), crc32 of its cells (4), its cells. */
export const BLOCK_HEADER = 12;

/** A block as it is kept; `sequence`: number of the last journal record it includes. */
export function encodeBlock(sequence: number, cells: Uint8Array): Buffer {
  const value = Buffer.allocUnsafe(BLOCK_HEADER + cells.length);
  writeNumber(value, sequence, 0);
  value.writeUInt32BE(crc32(cells), 8);
  value.set(cells, BLOCK_HEADER);
  return value;
}

/** Of at least BLOCK_HEADER bytes; of fewer, numbers that match no block. */
export function readBlockHeader(value: Buffer): { sequence: number; crc: number } {
  if (value.length < BLOCK_HEADER) return { sequence: 0, crc: -1 };
  return { sequence: readNumber(value), crc: value.readUInt32BE(8) };
}
