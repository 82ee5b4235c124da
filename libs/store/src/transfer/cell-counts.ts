import { type Geometry, pageBytes, STAMP_BYTES } from '#bloom';

/** Cell counts for a piece of a segment. */
export interface CellCounts {
  readonly nonZero: number;
  /** Number of counters at 15. For bits, 0. */
  readonly saturated: number;
  /** Sum of all cells. */
  readonly sum: number;
}

const NIBBLES_NON_ZERO = Uint8Array.from({ length: 256 }, (_, byte) => +(byte > 15) + +((byte & 15) > 0));
const NIBBLES_SATURATED = Uint8Array.from(
  { length: 256 },
  (_, byte) => +(byte >> 4 === 15) + +((byte & 15) === 15),
);
const NIBBLES_SUM = Uint8Array.from({ length: 256 }, (_, byte) => (byte >> 4) + (byte & 15));
const BITS_SET = Uint8Array.from({ length: 256 }, (_, byte) => byte.toString(2).replaceAll('0', '').length);

/**
 * Counts the cells in whole bytes. Stores keep the same counts with the cells. Takes about 1 ns per byte. If
 * the filter ages, the bytes must be whole pages, and expired cells count until they are emptied.
 */
export function countCells(
  bytes: Uint8Array,
  geometry: Pick<Geometry, 'cellBits' | 'pageCells'>,
): CellCounts {
  const { cellBits } = geometry;
  if (cellBits === 8) return countAged(bytes, pageBytes(geometry));
  const ofByte = cellBits === 4 ? NIBBLES_NON_ZERO : BITS_SET;
  let nonZero = 0;
  let saturated = 0;
  let sum = 0;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] as number;
    if (byte === 0) continue;
    nonZero += ofByte[byte] as number;
    saturated += NIBBLES_SATURATED[byte] as number;
    sum += NIBBLES_SUM[byte] as number;
  }
  return cellBits === 4 ? { nonZero, saturated, sum } : { nonZero, saturated: 0, sum: nonZero };
}

function countAged(bytes: Uint8Array, step: number): CellCounts {
  let nonZero = 0;
  let saturated = 0;
  let sum = 0;
  for (let page = 0; page < bytes.length; page += step) {
    for (let at = page + STAMP_BYTES; at < page + step; at++) {
      const counter = (bytes[at] as number) >> 4;
      if (counter === 0) continue;
      nonZero++;
      sum += counter;
      if (counter === 15) saturated++;
    }
  }
  return { nonZero, saturated, sum };
}
