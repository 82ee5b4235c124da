import { isUtf8 } from 'node:buffer';
import { segmentOf } from '#bloom';
import { MAX_ATTEMPT, MAX_REASON_BYTES, type QueuedItem } from '../port/index.js';
import { ExportFileError } from './export-file-error.js';
import { ENTRY_HEAD_BYTES, SEGMENT_BYTES } from './format.js';
import type { ExportHeader } from './header.js';

const HASH_BYTES = 16;
const ATTEMPT_AT = 20;
const REASON_LENGTH_AT = 24;
const PAYLOAD_LENGTH_AT = 26;

/**
 * Maximum number of entries in a piece, and the size in bytes after which it gets no further entry: a few milliseconds
 * of work.
 */
const PIECE_ENTRIES = 200;
const PIECE_BYTES = 65_536;

/** The queue entries of a frame's payload, in pieces. All must belong to this segment. */
export function* decodeEntries(
  payload: Buffer,
  { geometry }: ExportHeader,
  segment: number,
): Generator<QueuedItem[], void, undefined> {
  for (let at = SEGMENT_BYTES; at < payload.length;) {
    const entries: QueuedItem[] = [];
    const last = Math.min(payload.length, at + PIECE_BYTES);
    while (at < last && entries.length < PIECE_ENTRIES) {
      const { entry, end } = decodeEntry(payload, at);
      if (segmentOf(payload.readUInt32BE(at), payload.readUInt32BE(at + 4), geometry) !== segment) {
        throw new ExportFileError(`a queue entry of segment ${segment} belongs to another segment`);
      }
      entries.push(entry);
      at = end;
    }
    yield entries;
  }
}

/** The entry that begins at byte `at` of a frame, and the position of its end. */
function decodeEntry(frame: Buffer, at: number): { entry: QueuedItem; end: number } {
  const head = frame.subarray(at, at + ENTRY_HEAD_BYTES);
  if (head.length < ENTRY_HEAD_BYTES) throw longerThanFrame();
  const payloadAt = at + ENTRY_HEAD_BYTES + head.readUInt16BE(REASON_LENGTH_AT);
  const end = payloadAt + head.readUInt32BE(PAYLOAD_LENGTH_AT);
  if (end > frame.length) throw longerThanFrame();
  const attempt = head.readUInt32BE(ATTEMPT_AT);
  if (attempt > MAX_ATTEMPT)
    throw new ExportFileError(`a queue entry was leased ${attempt} times; the limit is ${MAX_ATTEMPT}`);
  const reason = frame.subarray(at + ENTRY_HEAD_BYTES, payloadAt);
  if (reason.length > MAX_REASON_BYTES)
    throw new ExportFileError(
      `a dead letter has a reason of ${reason.length} bytes; the limit is ${MAX_REASON_BYTES}`,
    );
  const payload = frame.subarray(payloadAt, end);
  if (!isUtf8(payload) || !isUtf8(reason)) throw new ExportFileError('a queue entry is not valid UTF-8');
  const entry = {
    hash: head.subarray(0, HASH_BYTES),
    discoveredAt: head.readUInt32BE(HASH_BYTES),
    attempt,
    payload,
    ...(reason.length > 0 && { reason: reason.toString() }),
  };
  return { entry, end };
}

function longerThanFrame(): ExportFileError {
  return new ExportFileError('a queue entry is longer than its frame');
}
