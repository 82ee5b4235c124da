import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { HiddenItem, Part, QueuedHost, QueuedItem } from '../port/index.js';
import {
  CELLS,
  END,
  ENTRY_HEAD_BYTES,
  HEADER,
  HIDDEN,
  HOST_HEAD_BYTES,
  HOST_LENGTH_BYTES,
  HOSTS,
  MAGIC,
  MAX_PAYLOAD_BYTES,
  PRIORITY_OF,
  QUEUE,
  SEGMENT_BYTES,
  TIME_BYTES,
  VERSION,
} from './format.js';
import { encodeHeader, type ExportHeader } from './header.js';

/**
 * Encodes an export file, in pieces of at most one frame. Rethrows errors from `parts`: the file then lacks its last
 * frame, and is invalid.
 */
export async function* encodeExportFile(
  header: ExportHeader,
  parts: AsyncIterable<Part>,
): AsyncGenerator<Uint8Array, void, undefined> {
  const sha256 = createHash('sha256');
  function* hashed(chunks: readonly Uint8Array[]): Generator<Uint8Array, void, undefined> {
    for (const chunk of chunks) {
      sha256.update(chunk);
      yield chunk;
    }
  }
  yield* hashed([MAGIC, Buffer.of(VERSION), ...frame(HEADER, [encodeHeader(header)])]);
  const totals = { nonZero: 0, saturated: 0, queued: 0 };
  let hidden = 0;
  let hosts = 0;
  for await (const part of parts) {
    switch (part.type) {
      case 'queue':
        totals.queued += part.entries.length;
        for (const entries of packAll(part.entries, packEntry)) {
          yield* hashed(frame(QUEUE, [uint32(part.segment), entries]));
        }
        hosts += part.hosts?.length ?? 0;
        for (const lanes of packAll(part.hosts ?? [], packHost)) {
          yield* hashed(frame(HOSTS, [uint32(part.segment), lanes]));
        }
        break;
      case 'hidden':
        hidden += part.items.length;
        yield* hashed(frame(HIDDEN, [uint32(part.segment), ...part.items.map(packHidden)]));
        break;
      case 'cells':
        totals.nonZero += part.nonZero;
        totals.saturated += part.saturated;
        yield* hashed(frame(CELLS, [uint32(part.segment), Buffer.of(part.layer), part.cells]));
        break;
      case 'counts': {
        const { layerItems } = part;
        const aged = header.maxAgeSeconds === undefined ? {} : { hidden };
        const lanes = header.perHost === undefined ? {} : { hosts };
        const end = {
          ...part.counts,
          layerItems,
          ...totals,
          ...aged,
          ...lanes,
          sha256: sha256.digest('hex'),
        };
        yield* frame(END, [Buffer.from(JSON.stringify(end))]);
      }
    }
  }
}

/** Builds a frame without copying the pieces of its payload. */
function frame(type: string, payload: readonly Uint8Array[]): Uint8Array[] {
  const length = payload.reduce((sum, piece) => sum + piece.length, 0);
  if (length > MAX_PAYLOAD_BYTES) throw new RangeError(`a frame of ${length} bytes is too long`);
  const pieces = [Buffer.concat([Buffer.from(type), uint32(length)]), ...payload];
  return [...pieces, uint32(pieces.reduce((crc, piece) => crc32(piece, crc), 0))];
}

/** Packs entries or lanes into the payloads of as many frames as they need. */
function* packAll<T>(entries: readonly T[], pack: (entry: T) => Buffer): Generator<Buffer, void, undefined> {
  let packed: Buffer[] = [];
  let bytes = SEGMENT_BYTES;
  for (const entry of entries) {
    const next = pack(entry);
    if (packed.length > 0 && bytes + next.length > MAX_PAYLOAD_BYTES) {
      yield Buffer.concat(packed);
      packed = [];
      bytes = SEGMENT_BYTES;
    }
    packed.push(next);
    bytes += next.length;
  }
  if (packed.length > 0) yield Buffer.concat(packed);
}

function packEntry({ hash, discoveredAt, attempt, payload, host, ...more }: QueuedItem): Buffer {
  const { reason = '', priority = 'normal', scheduledAt = 0 } = more;
  const name = host === undefined ? undefined : Buffer.from(host);
  const head = Buffer.allocUnsafe(ENTRY_HEAD_BYTES + (name ? HOST_LENGTH_BYTES : 0));
  const why = Buffer.from(reason);
  head.set(hash);
  head.writeUInt32BE(discoveredAt, 16);
  head.writeUInt8(PRIORITY_OF.indexOf(priority), 20);
  head.writeUIntBE(attempt, 21, 3);
  head.writeUInt16BE(why.length, 24);
  head.writeUInt32BE(payload.length, 26);
  head.writeUIntBE(scheduledAt, 30, TIME_BYTES);
  if (!name) return Buffer.concat([head, why, payload]);
  head.writeUInt16BE(name.length, ENTRY_HEAD_BYTES);
  return Buffer.concat([head, why, payload, name]);
}

function packHost({ name, readyAt, found, foundUntil, blockedUntil = 0, own }: QueuedHost): Buffer {
  const text = Buffer.from(name);
  const head = Buffer.allocUnsafe(HOST_HEAD_BYTES);
  head.writeUIntBE(readyAt, 0, 6);
  head.writeUInt32BE(found, 6);
  head.writeUIntBE(foundUntil, 10, 6);
  head.writeUIntBE(blockedUntil, 16, 6);
  head.writeUInt32BE((own?.delayMs ?? -1) + 1, 22);
  head.writeUInt32BE((own?.maxLeased ?? -1) + 1, 26);
  head.writeUInt32BE((own?.maxUrls ?? -1) + 1, 30);
  head.writeUInt16BE(text.length, 34);
  return Buffer.concat([head, text]);
}

function packHidden({ hash, until }: HiddenItem): Buffer {
  return Buffer.concat([hash, uint32(until)]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
