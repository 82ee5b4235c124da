import { isUtf8 } from 'node:buffer';
import { hostWords, segmentOf } from '#bloom';
import { MAX_PER_HOST, type QueuedHost } from '../port/index.js';
import { ExportFileError } from './export-file-error.js';
import { HOST_HEAD_BYTES, SEGMENT_BYTES } from './format.js';
import type { ExportHeader } from './header.js';

/** Maximum number of lanes in a piece: a few milliseconds of work. */
const PIECE_HOSTS = 200;

/**
 * The lanes of a frame's payload, in pieces. All must belong to the run of segments whose first one is `segment`.
 */
export function* decodeHosts(
  payload: Buffer,
  header: ExportHeader,
  segment: number,
): Generator<QueuedHost[], void, undefined> {
  for (let at = SEGMENT_BYTES; at < payload.length;) {
    const hosts: QueuedHost[] = [];
    while (at < payload.length && hosts.length < PIECE_HOSTS) {
      const { host, end } = decodeHost(payload, at);
      const [first = 0] = hostWords(host.name, header.seed);
      if (segmentOf(first, 0, header.geometry) !== segment)
        throw new ExportFileError(`a host of segment ${segment} belongs to another segment`);
      hosts.push(host);
      at = end;
    }
    yield hosts;
  }
}

/** The lane that begins at byte `at` of a frame, and the position of its end. */
function decodeHost(frame: Buffer, at: number): { host: QueuedHost; end: number } {
  const nameAt = at + HOST_HEAD_BYTES;
  if (nameAt > frame.length) throw longerThanFrame();
  const end = nameAt + frame.readUInt16BE(at + 16);
  if (end > frame.length) throw longerThanFrame();
  const found = frame.readUInt32BE(at + 6);
  if (found > MAX_PER_HOST)
    throw new ExportFileError(`a host has ${found} discoveries; the limit is ${MAX_PER_HOST}`);
  const host = {
    name: hostName(frame.subarray(nameAt, end)),
    readyAt: frame.readUIntBE(at, 6),
    found,
    foundUntil: frame.readUIntBE(at + 10, 6),
  };
  return { host, end };
}

/** The name of a host from its bytes. */
export function hostName(bytes: Buffer): string {
  if (bytes.length === 0) throw new ExportFileError('a host has no name');
  if (!isUtf8(bytes)) throw new ExportFileError('the name of a host is not valid UTF-8');
  return bytes.toString();
}

function longerThanFrame(): ExportFileError {
  return new ExportFileError('a host is longer than its frame');
}
