import type { Positions } from '#bloom';
import { GENERATION_BYTES, readNumber, writeNumber } from '../database/keys.js';
import type { LayerState } from '../layers/layer-state.js';

/**
 * A journal record: the items whose cells one mutation changed in a layer, for replaying the change. It names the
 * layer, because a replay couldn't work it out from blocks that were checkpointed at different times.
 *
 *   0  operation   1  k   2  bytes per cell index   3  1 if the layer ages   4  n   8  generation
 *   16  number of the previous record   24  layer   28  epoch, if the layer ages
 *   32  n pages (4 bytes)  then n segments (2 bytes)  then n·k cells (1 byte if pages have at most 256, else 2)
 *       then, if the layer ages, for how many epochs each item lives (1 byte)
 *
 * The previous record is the last one with the same generation. So a generation's records form a chain, which shows if
 * any are missing. Numbers in columns are in the machine's byte order, like LMDB's own numbers. Reading and writing
 * columns creates no objects.
 */
export const JournalOperation = { None: 0, Add: 1, Remove: 2 } as const;
export type JournalOperation = (typeof JournalOperation)[keyof typeof JournalOperation];

/** The operations on items in a layer that ages. */
export const AgedOperation = { Add: 3, Refresh: 4, Remove: 5 } as const;
export type AgedOperation = (typeof AgedOperation)[keyof typeof AgedOperation];

/**
 * A change of items in a layer that ages: the operation, its epoch, and for how many epochs after that each item lives.
 */
export interface AgedChange {
  readonly operation: AgedOperation;
  readonly epoch: number;
  readonly lasts: Uint8Array;
}

/**
 * A batch's change in one layer. `positions` refer to the layer. `changed` has the indexes of the items whose cells
 * changed.
 */
export interface LayerChange {
  readonly layer: LayerState;
  readonly positions: Positions;
  readonly changed: Uint32Array;
  /** If the layer ages: how these items changed. */
  readonly aged?: AgedChange;
}

/** A decoded journal record. */
export interface JournalRecord {
  readonly operation: number;
  readonly layer: number;
  /** Hexadecimal. */
  readonly generation: string;
  /** Sequence number of the generation's previous record, or 0 if there is none. */
  readonly previous: number;
  readonly count: number;
  readonly hashes: number;
  readonly page: Uint32Array;
  readonly segment: Uint16Array;
  readonly cell: Uint16Array;
  /** If the layer ages. */
  readonly aged?: Pick<AgedChange, 'epoch' | 'lasts'>;
}

/** Row of the table `meta`: the sequence number of the first record kept. */
export const JOURNAL_FIRST = Buffer.from('journal-first');
/** Row of the table `meta`: the sequence number of the last record written. */
export const JOURNAL_LAST = Buffer.from('journal-last');

const HEADER = 32;
const AGED_AT = 3;
const LAYER_AT = 24;
const EPOCH_AT = 28;
const PREVIOUS_AT = 16;

/** Writes records into one buffer, which grows as needed. A record is valid until the next one is written. */
export class JournalEncoder {
  private buffer = Buffer.alloc(0x10000);

  /** Encodes a batch's change in one layer. */
  encode(
    generation: Buffer,
    operation: JournalOperation,
    { layer, positions, changed, aged }: LayerChange,
  ): Buffer {
    const { pageCells } = layer.plan.geometry;
    const k = positions.hashes;
    const n = changed.length;
    const width = pageCells <= 256 ? 1 : 2;
    const itemBytes = 6 + k * width + (aged ? 1 : 0);
    const record = this.start(generation, aged ? aged.operation : operation, HEADER + n * itemBytes);
    record[1] = k;
    record[2] = width;
    record.writeUInt32LE(layer.number, LAYER_AT);
    record.writeUInt32LE(n, 4);
    const { buffer, byteOffset } = record;
    const page = new Uint32Array(buffer, byteOffset + HEADER, n);
    const segment = new Uint16Array(buffer, byteOffset + HEADER + 4 * n, n);
    const cellsAt = byteOffset + HEADER + 6 * n;
    const cell =
      width === 1 ? new Uint8Array(buffer, cellsAt, n * k) : new Uint16Array(buffer, cellsAt, n * k);
    for (let i = 0, to = 0; i < n; i++) {
      const item = changed[i] as number;
      page[i] = positions.page[item] as number;
      segment[i] = positions.segment[item] as number;
      for (let from = item * k; from < item * k + k; from++) cell[to++] = positions.cell[from] as number;
    }
    if (aged) {
      record[AGED_AT] = 1;
      record.writeUInt32LE(aged.epoch, EPOCH_AT);
      record.set(aged.lasts, HEADER + n * (itemBytes - 1));
    }
    return record;
  }

  /** The records of a batch's changes, one per layer. Each is valid until the next one. */
  *records(
    generation: Buffer,
    operation: JournalOperation,
    changes: readonly LayerChange[],
  ): Generator<Buffer, void, undefined> {
    for (const change of changes) yield this.encode(generation, operation, change);
  }

  /** A record for a mutation that changed no cell. */
  encodeNone(generation: Buffer): Buffer {
    return this.start(generation, JournalOperation.None, HEADER);
  }

  private start(generation: Buffer, operation: JournalOperation | AgedOperation, length: number): Buffer {
    if (this.buffer.length < length) this.buffer = Buffer.alloc(length * 2);
    const record = this.buffer.subarray(0, length);
    record.fill(0, 0, HEADER);
    record[0] = operation;
    record.set(generation, 8);
    return record;
  }
}

/** Links a record to its generation's previous one. */
export function setPrevious(record: Buffer, previous: number): void {
  writeNumber(record, previous, PREVIOUS_AT);
}

/** Reads records. A record is valid until the next one is read. */
export class JournalDecoder {
  /** Aligned, as typed arrays require. The database's buffers are not aligned. */
  private aligned = new ArrayBuffer(0x10000);
  private wide = new Uint16Array(0);

  /** Decodes a record. Returns undefined for bytes that the encoder can't have written. */
  decode(bytes: Buffer): JournalRecord | undefined {
    if (bytes.length < HEADER) return undefined;
    if (this.aligned.byteLength < bytes.length) this.aligned = new ArrayBuffer(bytes.length * 2);
    new Uint8Array(this.aligned).set(bytes);
    const hashes = bytes[1] as number;
    const width = bytes[2] as number;
    const count = bytes.readUInt32LE(4);
    const ages = bytes[AGED_AT] === 1;
    const lastsAt = HEADER + count * (6 + hashes * width);
    if (bytes.length !== lastsAt + (ages ? count : 0)) return undefined;
    const aged = {
      epoch: bytes.readUInt32LE(EPOCH_AT),
      lasts: new Uint8Array(this.aligned, lastsAt, ages ? count : 0),
    };
    return {
      operation: bytes[0] as number,
      layer: bytes.readUInt32LE(LAYER_AT),
      generation: bytes.toString('hex', 8, 8 + GENERATION_BYTES),
      previous: readNumber(bytes, PREVIOUS_AT),
      count,
      hashes,
      page: new Uint32Array(this.aligned, HEADER, count),
      segment: new Uint16Array(this.aligned, HEADER + 4 * count, count),
      cell: this.cells(HEADER + 6 * count, count * hashes, width),
      ...(ages && { aged }),
    };
  }

  private cells(at: number, length: number, width: number): Uint16Array {
    if (width === 2) return new Uint16Array(this.aligned, at, length);
    if (this.wide.length < length) this.wide = new Uint16Array(length * 2);
    this.wide.set(new Uint8Array(this.aligned, at, length));
    return this.wide;
  }
}
