import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { type Geometry, pageBytes } from '#bloom';
import { epochMs, stampOf } from '../age.js';
import { SYSTEM_CLOCK } from '../clock.js';
import { countCells } from '../transfer/cell-counts.js';
import { ItemsHeld } from '../transfer/items-held.js';
import type { CallCounts, Part } from '../port/index.js';
import { ByteReader } from './byte-reader.js';
import { decodeEntries } from './entries.js';
import { decodeHidden } from './hidden.js';
import { decodeHosts } from './hosts.js';
import { ExportFileError } from './export-file-error.js';
import {
  CELLS,
  CELLS_HEAD_BYTES,
  CRC_BYTES,
  END,
  FRAME_HEAD_BYTES,
  HEADER,
  HIDDEN,
  HOSTS,
  MAGIC,
  MAX_JSON_BYTES,
  MAX_PAYLOAD_BYTES,
  QUEUE,
  SEGMENT_BYTES,
  VERSION,
} from './format.js';
import { decodeHeader, type ExportHeader } from './header.js';
import { isObject, text, whole } from './members.js';
import { SegmentOrder } from './segment-order.js';

/** Frame types whose payload may be as long as MAX_PAYLOAD_BYTES. */
const LONG_FRAMES: readonly string[] = [QUEUE, HOSTS, HIDDEN, CELLS];

interface Frame {
  readonly type: string;
  readonly payload: Buffer;
}

/**
 * Reads an export file as its bytes arrive: first the header, then the parts. Throws ExportFileError unless the file is
 * a complete, unaltered export, but perhaps only at the end of the iteration. So don't use the parts until all have
 * arrived. Rethrows the source's errors. The reader never trusts a length field: it allocates only for bytes that have
 * arrived.
 */
export class ExportFileReader {
  private readonly bytes: ByteReader;
  private readonly sha256 = createHash('sha256');
  private version = VERSION;

  /** `now`: the importing store's time, in ms since the epoch. */
  constructor(
    source: AsyncIterable<Uint8Array>,
    private readonly now = (): number => SYSTEM_CLOCK.now(),
  ) {
    this.bytes = new ByteReader(source);
  }

  /** Reads the header. Call it first, once. */
  async header(): Promise<ExportHeader> {
    const start = await this.bytes.take(MAGIC.length).catch((error: unknown) => {
      throw error instanceof ExportFileError ? foreign() : error;
    });
    if (!start.equals(MAGIC)) throw foreign();
    const version = await this.bytes.take(1);
    this.version = version[0] as number;
    if (this.version < 1 || this.version > VERSION) {
      throw new ExportFileError(
        `the export has format version ${this.version}; this service reads versions 1 to ${VERSION}`,
      );
    }
    this.sha256.update(start).update(version);
    const { type, payload } = await this.frame();
    if (type !== HEADER)
      throw new ExportFileError(`the first frame of the export must be the header, not ${show(type)}`);
    return decodeHeader(parseJson(payload));
  }

  /** Reads the parts. Iterate once, after `header`. */
  async *parts(header: ExportHeader): AsyncGenerator<Part, void, undefined> {
    const order = new SegmentOrder(header);
    const held: ItemsHeld[] = [];
    const totals = { nonZero: 0, saturated: 0, queued: 0 };
    let hidden = 0;
    let lanes = 0;
    for (;;) {
      const { type, payload } = await this.frame();
      switch (type) {
        case QUEUE: {
          const segment = order.queue(segmentOf(payload));
          for (const entries of decodeEntries(payload, header, segment, this.version)) {
            totals.queued += entries.length;
            yield { type: 'queue', segment, entries };
          }
          break;
        }
        case HOSTS: {
          const segment = order.hosts(segmentOf(payload));
          for (const hosts of decodeHosts(payload, header, segment)) {
            lanes += hosts.length;
            yield { type: 'queue', segment, entries: [], hosts };
          }
          break;
        }
        case HIDDEN: {
          const segment = order.hidden(segmentOf(payload));
          const items = decodeHidden(payload.subarray(SEGMENT_BYTES), header, segment);
          hidden += items.length;
          yield { type: 'hidden', segment, items };
          break;
        }
        case CELLS: {
          const cells = payload.subarray(CELLS_HEAD_BYTES);
          const segment = segmentOf(payload, CELLS_HEAD_BYTES);
          const layer = payload[SEGMENT_BYTES] as number;
          const geometry = order.cells(layer, segment, cells.length);
          const counts = countCells(cells, geometry);
          refuseFuture(cells, geometry, header, this.now());
          (held[layer] ??= new ItemsHeld({ geometry, semantics: header.semantics })).take(counts);
          totals.nonZero += counts.nonZero;
          totals.saturated += counts.saturated;
          yield { type: 'cells', layer, segment, cells, ...counts };
          break;
        }
        case END: {
          order.end();
          const aged = header.maxAgeSeconds === undefined ? {} : { hidden };
          const hosts = header.perHost === undefined ? {} : { hosts: lanes };
          yield { type: 'counts', ...this.end(payload, { ...totals, ...aged, ...hosts }, held) };
          if (!(await this.bytes.atEnd()))
            throw new ExportFileError('the body continues after the end of the export');
          return;
        }
        default:
          throw new ExportFileError(`the export has an unexpected frame of type ${show(type)}`);
      }
    }
  }

  /** Reads and discards the rest of the source. */
  drain(): Promise<void> {
    return this.bytes.drain();
  }

  /** Releases the source, even if unread bytes remain. */
  close(): Promise<void> {
    return this.bytes.close();
  }

  /** Reads the next frame and verifies its checksum. All frames except the last go into the file's hash. */
  private async frame(): Promise<Frame> {
    const at = this.bytes.position;
    const head = await this.bytes.take(FRAME_HEAD_BYTES);
    const type = head.toString('latin1', 0, 1);
    const length = head.readUInt32BE(1);
    const limit = LONG_FRAMES.includes(type) ? MAX_PAYLOAD_BYTES : MAX_JSON_BYTES;
    if (length > limit) throw altered(at);
    const payload = await this.bytes.take(length);
    const crc = await this.bytes.take(CRC_BYTES);
    if (crc32(payload, crc32(head)) !== crc.readUInt32BE()) throw altered(at);
    if (type !== END) this.sha256.update(head).update(payload).update(crc);
    return { type, payload };
  }

  /** The last frame's counts, which must agree with all frames before it. */
  private end(
    payload: Buffer,
    totals: Readonly<Record<string, number>>,
    held: readonly ItemsHeld[],
  ): { counts: CallCounts; layerItems: number[] } {
    const json = parseJson(payload);
    if (!isObject(json)) throw new ExportFileError("the export's end frame must be a JSON object");
    for (const [name, found] of Object.entries(totals)) whole(json, name, found, found);
    const sha256 = text(json, 'sha256', /^[0-9a-f]{64}$/);
    if (sha256 !== this.sha256.digest('hex'))
      throw new ExportFileError("the export's SHA-256 does not match its contents");
    const count = (name: string) => whole(json, name, 0, Number.MAX_SAFE_INTEGER);
    const removed = count('removed');
    const layerItems = layerItemsOf(json, held, removed);
    const items = layerItems.reduce((sum, one) => sum + one, 0);
    return {
      counts: {
        items: whole(json, 'items', items, items),
        added: count('added'),
        duplicate: count('duplicate'),
        removed,
        refused: count('refused'),
      },
      layerItems,
    };
  }
}

/** How far ahead of the importing store's clock a page's stamp may be, in ms. */
const MOST_AHEAD_MS = 86_400_000;

/**
 * Throws if a page's stamp is far in the future. A filter's time never goes back, so it would stand still until then.
 */
function refuseFuture(
  cells: Uint8Array,
  geometry: Geometry,
  { maxAgeSeconds }: ExportHeader,
  now: number,
): void {
  if (maxAgeSeconds === undefined) return;
  const lengthMs = epochMs(maxAgeSeconds);
  const latest = Math.floor((now + MOST_AHEAD_MS) / lengthMs);
  for (let page = 0; page < cells.length; page += pageBytes(geometry)) {
    const stamp = stampOf(cells, page);
    if (stamp <= latest) continue;
    throw new ExportFileError(
      `a page has epoch ${stamp}, more than a day ahead of the clock; the latest allowed epoch is ${latest}`,
    );
  }
}

/** Returns each layer's items, and throws if the layer's cells can't hold them. */
function layerItemsOf(
  json: Readonly<Record<string, unknown>>,
  held: readonly ItemsHeld[],
  removed: number,
): number[] {
  const found = json['layerItems'];
  if (!Array.isArray(found) || found.length !== held.length) {
    throw new ExportFileError(`the end frame's layerItems must be a list of ${held.length} numbers`);
  }
  return held.map((layer, number) => {
    const { least, most } = layer.bounds({ removed });
    return whole({ layerItems: found[number] as unknown }, 'layerItems', least, most);
  });
}

function segmentOf(payload: Buffer, head = SEGMENT_BYTES): number {
  if (payload.length <= head) throw new ExportFileError('the export has an empty frame');
  return payload.readUInt32BE();
}

function parseJson(payload: Buffer): unknown {
  try {
    return JSON.parse(payload.toString()) as unknown;
  } catch (cause) {
    throw new ExportFileError('a frame in the export is not valid JSON', { cause });
  }
}

function foreign(): ExportFileError {
  return new ExportFileError('the body is not an export of this service: its signature is missing');
}

function altered(at: number): ExportFileError {
  return new ExportFileError(`the export is damaged: the frame at byte ${at} does not match its checksum`);
}

function show(type: string): string {
  return JSON.stringify(type);
}
