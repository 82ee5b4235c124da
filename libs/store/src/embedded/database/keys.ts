/** Keys of the tables. Numbers are big-endian, so that keys sort as the numbers do. */

/** Bytes of a key that is a number. */
export const SEQUENCE_BYTES = 8;

/** A key of SEQUENCE_BYTES bytes. n is a non-negative safe integer. */
export function numberKey(n: number): Buffer {
  const key = Buffer.allocUnsafe(SEQUENCE_BYTES);
  writeNumber(key, n, 0);
  return key;
}

/** Writes 8 bytes, big-endian, so that keys are in the order of their numbers. */
export function writeNumber(key: Buffer, n: number, at: number): void {
  key.writeUInt32BE(Math.floor(n / 2 ** 32), at);
  key.writeUInt32BE(n % 2 ** 32, at + 4);
}

/** What writeNumber wrote. */
export function readNumber(key: Buffer, at = 0): number {
  return key.readUInt32BE(at) * 2 ** 32 + key.readUInt32BE(at + 4);
}

/** Bytes of a generation's key. Every key of a filter's data begins with one. */
export const GENERATION_BYTES = 8;

/** The key of a generation, of its name in hex. */
export function generationKey(generation: string): Buffer {
  return Buffer.from(generation, 'hex');
}

const LAYER_BYTES = 4;
const BLOCK_KEY_BYTES = GENERATION_BYTES + LAYER_BYTES + 4;

/** The key of a block of the cells of a generation's layer. */
export function blockKey(generation: Buffer, layer: number, block: number): Buffer {
  const key = Buffer.allocUnsafe(BLOCK_KEY_BYTES);
  key.set(generation);
  key.writeUInt32BE(layer, GENERATION_BYTES);
  key.writeUInt32BE(block, GENERATION_BYTES + LAYER_BYTES);
  return key;
}

/** What blockKey wrote. Undefined for other bytes. */
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

/** Bytes of listPrefix. */
export const PREFIX_BYTES = GENERATION_BYTES + LAYER_BYTES;

/** What the keys of all rows begin with that belong to a list of a generation, by the number of its first layer. */
export function listPrefix(generation: Buffer, base: number): Buffer {
  const prefix = Buffer.allocUnsafe(PREFIX_BYTES);
  prefix.set(generation);
  prefix.writeUInt32BE(base, GENERATION_BYTES);
  return prefix;
}

/** Bytes of an epoch in a key. */
export const UNTIL_BYTES = 4;

/** The first key of what is hidden until an epoch or later. */
export function hiddenBefore(generation: Buffer, base: number, until: number): Buffer {
  const key = Buffer.allocUnsafe(PREFIX_BYTES + UNTIL_BYTES);
  key.set(listPrefix(generation, base));
  key.writeUInt32BE(until, PREFIX_BYTES);
  return key;
}

/** The key of a row that has a number in a generation. */
export function numberedKey(generation: Buffer, number: number): Buffer {
  const key = Buffer.allocUnsafe(GENERATION_BYTES + SEQUENCE_BYTES);
  key.set(generation);
  writeNumber(key, number, GENERATION_BYTES);
  return key;
}

/** Keys of a table: from `start` to before `end`, or to the last. */
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
