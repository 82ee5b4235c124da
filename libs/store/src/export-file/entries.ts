import { isUtf8 } from 'node:buffer';
import { segmentOf } from '#bloom';
import { MAX_ATTEMPT, MAX_PLACE, type QueuedItem } from '../store.js';
import { ExportFileError } from './export-file-error.js';
import { ENTRY_HEAD_BYTES, SEGMENT_BYTES } from './format.js';
import type { ExportHeader } from './header.js';

const HASH_BYTES = 16;

/** Entries decoded at a time, and the bytes after which no further entry is begun: a few milliseconds of work. */
const PIECE_ENTRIES = 200;
const PIECE_BYTES = 65_536;

/** The queue entries of a frame's payload, a piece at a time. All must be items of this segment. */
export function* decodeEntries(
  payload: Buffer,
  { geometry }: ExportHeader,
  segment: number,
): Generator<QueuedItem[], void, undefined> {
  for (let at = SEGMENT_BYTES; at < payload.length;) {
    const entries: QueuedItem[] = [];
    const end = Math.min(payload.length, at + PIECE_BYTES);
    while (at < end && entries.length < PIECE_ENTRIES) {
      const entry = decodeEntry(payload, at);
      if (segmentOf(entry.hash.readUInt32BE(), geometry.segments) !== segment) {
        throw new ExportFileError(`a queue entry of segment ${segment} belongs to another`);
      }
      entries.push(entry);
      at += ENTRY_HEAD_BYTES + entry.payload.length;
    }
    yield entries;
  }
}

function decodeEntry(frame: Buffer, at: number) {
  const head = frame.subarray(at, at + ENTRY_HEAD_BYTES);
  const end = head.length < ENTRY_HEAD_BYTES ? Infinity : at + ENTRY_HEAD_BYTES + head.readUInt32BE(28);
  if (end > frame.length) throw new ExportFileError('a queue entry is longer than its frame');
  const payload = frame.subarray(at + ENTRY_HEAD_BYTES, end);
  const place = Number(head.readBigUInt64BE(HASH_BYTES));
  if (place > MAX_PLACE)
    throw new ExportFileError(`a queue entry has the place ${place}: at most ${MAX_PLACE}`);
  const attempt = head.readUInt32BE(24);
  if (attempt > MAX_ATTEMPT)
    throw new ExportFileError(`a queue entry was leased ${attempt} times: at most ${MAX_ATTEMPT}`);
  if (!isUtf8(payload)) throw new ExportFileError('a queue entry is not valid UTF-8');
  return { hash: head.subarray(0, HASH_BYTES), place, attempt, payload };
}
