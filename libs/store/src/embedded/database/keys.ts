/** Keys of the tables. Numbers are big-endian, so keys sort like their numbers. */

/** Length of a key that is a number, in bytes. */
export const SEQUENCE_BYTES = 8;

/** A key of SEQUENCE_BYTES bytes. `n` is a non-negative safe integer. */
export function numberKey(n: number): Buffer {
  const key = Buffer.allocUnsafe(SEQUENCE_BYTES);
  writeNumber(key, n, 0);
  return key;
}

/** Writes a number as 8 bytes, big-endian. */
export function writeNumber(key: Buffer, n: number, at: number): void {
  key.writeUInt32BE(Math.floor(n / 2 ** 32), at);
  key.writeUInt32BE(n % 2 ** 32, at + 4);
}

/** Reads a number that `writeNumber` wrote. */
export function readNumber(key: Buffer, at = 0): number {
  return key.readUInt32BE(at) * 2 ** 32 + key.readUInt32BE(at + 4);
}

/** Length of a generation's key, in bytes. Every key in a filter's data begins with one. */
export const GENERATION_BYTES = 8;

/** The key of a generation, from its name in hex. */
export function generationKey(generation: string): Buffer {
  return Buffer.from(generation, 'hex');
}

const LAYER_BYTES = 4;
const BLOCK_KEY_BYTES = GENERATION_BYTES + LAYER_BYTES + 4;

export function blockKey(generation: Buffer, layer: number, block: number): Buffer {
  const key = Buffer.allocUnsafe(BLOCK_KEY_BYTES);
  key.set(generation);
  key.writeUInt32BE(layer, GENERATION_BYTES);
  key.writeUInt32BE(block, GENERATION_BYTES + LAYER_BYTES);
  return key;
}

/** Reads a key that `blockKey` wrote. Returns undefined for other bytes. */
export function readBlockKey(
  key: Buffer,
): { readonly generation: string; readonly layer: number; readonly block: number } | undefined {
  if (key.length !== BLOCK_KEY_BYTES) return undefined;
  return {
    generation: key.toString('hex', 0, GENERATION_BYTES),
    layer: key.readUInt32BE(GENERATION_BYTES),
    block: key.readUInt32BE(GENERATION_BYTES + LAYER_BYTES),
  };
}

/** Length of `stackPrefix`, in bytes. */
export const PREFIX_BYTES = GENERATION_BYTES + LAYER_BYTES;

/**
 * The prefix of all rows that belong to a generation's own layers, or to the layers of its sync. `base` is the number
 * of the first layer.
 */
export function stackPrefix(generation: Buffer, base: number): Buffer {
  const prefix = Buffer.allocUnsafe(PREFIX_BYTES);
  prefix.set(generation);
  prefix.writeUInt32BE(base, GENERATION_BYTES);
  return prefix;
}

/** Length of an epoch in a key, in bytes. */
export const UNTIL_BYTES = 4;

/** The first key among items that are hidden until this epoch or later. */
export function hiddenBefore(generation: Buffer, base: number, until: number): Buffer {
  const key = Buffer.allocUnsafe(PREFIX_BYTES + UNTIL_BYTES);
  key.set(stackPrefix(generation, base));
  key.writeUInt32BE(until, PREFIX_BYTES);
  return key;
}

/** The key for a generation's row with this number. */
export function numberedKey(generation: Buffer, number: number): Buffer {
  const key = Buffer.allocUnsafe(GENERATION_BYTES + SEQUENCE_BYTES);
  key.set(generation);
  writeNumber(key, number, GENERATION_BYTES);
  return key;
}

/** A range of a table's keys. */
export interface KeyRange {
  start: Buffer;
  /** Exclusive. If absent, the range goes to the end of the table. */
  end?: Buffer;
}

/** All keys that begin with `prefix`. */
export function prefixRange(prefix: Buffer): KeyRange {
  const end = Buffer.from(prefix);
  for (let i = end.length - 1; i >= 0; i--) {
    const byte = end[i] as number;
    if (byte < 0xff) {
      end[i] = byte + 1;
      return { start: prefix, end: end.subarray(0, i + 1) };
    }
  }
  return { start: prefix };
}
