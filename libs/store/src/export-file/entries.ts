import { isUtf8 } from 'node:buffer';
import { hostWords, segmentOf } from '#bloom';
import { MAX_ATTEMPT, MAX_REASON_BYTES, type QueuedItem } from '../port/index.js';
import { ExportFileError } from './export-file-error.js';
import {
  ENTRY_HEAD_BYTES,
  HOST_LENGTH_BYTES,
  ORDERED_VERSION,
  PRIORITY_OF,
  SEGMENT_BYTES,
  TIME_BYTES,
} from './format.js';
import type { ExportHeader } from './header.js';
import { hostName } from './hosts.js';

const HASH_BYTES = 16;
const ATTEMPT_AT = 20;
const REASON_LENGTH_AT = 24;
const PAYLOAD_LENGTH_AT = 26;
const TIME_AT = 30;

/** A piece ends after this many entries or bytes, so that it takes only a few milliseconds of work. */
const PIECE_ENTRIES = 200;
const PIECE_BYTES = 65_536;

/** Decodes the queue entries in a frame's payload, in pieces. Throws if one belongs to another segment. */
export function* decodeEntries(
  payload: Buffer,
  { geometry, perHost, seed }: ExportHeader,
  segment: number,
  version: number,
): Generator<QueuedItem[], void, undefined> {
  const layout = {
    timeBytes: version < ORDERED_VERSION ? 0 : TIME_BYTES,
    hostBytes: perHost ? HOST_LENGTH_BYTES : 0,
  };
  for (let at = SEGMENT_BYTES; at < payload.length;) {
    const entries: QueuedItem[] = [];
    const last = Math.min(payload.length, at + PIECE_BYTES);
    while (at < last && entries.length < PIECE_ENTRIES) {
      const { entry, end } = decodeEntry(payload, at, layout);
      const first = payload.readUInt32BE(at);
      if (segmentOf(first, payload.readUInt32BE(at + 4), geometry) !== segment) {
        throw new ExportFileError(`a queue entry in segment ${segment} belongs to another segment`);
      }
      if (entry.host !== undefined && hostWords(entry.host, seed)[0] !== first)
        throw new ExportFileError('a queue entry has a hash that does not match its host');
      entries.push(entry);
      at = end;
    }
    yield entries;
  }
}

/** Lengths of the optional parts of an entry's head, or 0 if the file's entries lack them. */
interface EntryLayout {
  /** When it is scheduled. */
  readonly timeBytes: number;
  /** Size of the length field of its host name, in bytes. */
  readonly hostBytes: number;
}

/** The entry that begins at byte `at` of a frame, and the position where it ends. */
function decodeEntry(
  frame: Buffer,
  at: number,
  { timeBytes, hostBytes }: EntryLayout,
): { entry: QueuedItem; end: number } {
  const hostLengthAt = ENTRY_HEAD_BYTES - TIME_BYTES + timeBytes;
  const headBytes = hostLengthAt + hostBytes;
  const head = frame.subarray(at, at + headBytes);
  if (head.length < headBytes) throw longerThanFrame();
  const payloadAt = at + headBytes + head.readUInt16BE(REASON_LENGTH_AT);
  const hostAt = payloadAt + head.readUInt32BE(PAYLOAD_LENGTH_AT);
  const end = hostAt + (hostBytes > 0 ? head.readUInt16BE(hostLengthAt) : 0);
  if (end > frame.length) throw longerThanFrame();
  const leases = head.readUInt32BE(ATTEMPT_AT);
  // The priority is the highest byte.
  const attempt = timeBytes > 0 ? leases % (MAX_ATTEMPT + 1) : leases;
  if (attempt > MAX_ATTEMPT)
    throw new ExportFileError(`a queue entry was leased ${attempt} times; the limit is ${MAX_ATTEMPT}`);
  const priority = PRIORITY_OF[Math.floor(leases / (MAX_ATTEMPT + 1))];
  if (!priority) throw new ExportFileError('a queue entry has an unknown priority');
  const scheduledAt = timeBytes > 0 ? head.readUIntBE(TIME_AT, TIME_BYTES) : 0;
  const reason = frame.subarray(at + headBytes, payloadAt);
  if (reason.length > MAX_REASON_BYTES)
    throw new ExportFileError(
      `a dead letter has a reason of ${reason.length} bytes; the limit is ${MAX_REASON_BYTES}`,
    );
  if (reason.length > 0 && scheduledAt > 0)
    throw new ExportFileError('a dead letter must not have a scheduled time');
  const payload = frame.subarray(payloadAt, hostAt);
  if (!isUtf8(payload) || !isUtf8(reason)) throw new ExportFileError('a queue entry is not valid UTF-8');
  const entry = {
    hash: head.subarray(0, HASH_BYTES),
    discoveredAt: head.readUInt32BE(HASH_BYTES),
    attempt,
    payload,
    ...(priority !== 'normal' && { priority }),
    ...(reason.length > 0 && { reason: reason.toString() }),
    ...(scheduledAt > 0 && { scheduledAt }),
    ...(hostBytes > 0 && { host: hostName(frame.subarray(hostAt, end)) }),
  };
  return { entry, end };
}

function longerThanFrame(): ExportFileError {
  return new ExportFileError('a queue entry is longer than its frame');
}
