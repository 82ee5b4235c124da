import { isUtf8 } from 'node:buffer';
import { hostWords, segmentOf } from '#bloom';
import { MAX_PER_HOST, type HostSettings, type QueuedHost } from '../port/index.js';
import { assertHostSettings } from '../refusals.js';
import { ExportFileError } from './export-file-error.js';
import { HOST_HEAD_BYTES, SEGMENT_BYTES } from './format.js';
import type { ExportHeader } from './header.js';

/** Maximum number of lanes in a piece, so that it takes only a few milliseconds of work. */
const PIECE_HOSTS = 200;

/**
 * Decodes the lanes in a frame's payload, in pieces. Throws unless all belong to the run of segments that begins with
 * `segment`.
 */
export function* decodeHosts(
  payload: Buffer,
  header: ExportHeader,
  segment: number,
): Generator<QueuedHost[], void, undefined> {
  for (let at = SEGMENT_BYTES; at < payload.length;) {
    const hosts: QueuedHost[] = [];
    while (at < payload.length && hosts.length < PIECE_HOSTS) {
      const { host, end } = decodeHost(payload, at, header);
      const [first = 0] = hostWords(host.name, header.seed);
      if (segmentOf(first, 0, header.geometry) !== segment)
        throw new ExportFileError(`a host in segment ${segment} belongs to another segment`);
      hosts.push(host);
      at = end;
    }
    yield hosts;
  }
}

/** The lane that begins at byte `at` of a frame, and the position where it ends. */
function decodeHost(frame: Buffer, at: number, header: ExportHeader): { host: QueuedHost; end: number } {
  const nameAt = at + HOST_HEAD_BYTES;
  if (nameAt > frame.length) throw longerThanFrame();
  const end = nameAt + frame.readUInt16BE(at + 34);
  if (end > frame.length) throw longerThanFrame();
  const found = frame.readUInt32BE(at + 6);
  if (found > MAX_PER_HOST)
    throw new ExportFileError(`a host has ${found} discoveries; the limit is ${MAX_PER_HOST}`);
  const name = hostName(frame.subarray(nameAt, end));
  const settings = settingsAt(frame, at);
  try {
    assertHostSettings(header, name, settings);
  } catch (cause) {
    throw new ExportFileError(
      `a host has impossible settings: ${cause instanceof Error ? cause.message : ''}`,
      {
        cause,
      },
    );
  }
  const [readyAt, foundUntil] = [frame.readUIntBE(at, 6), frame.readUIntBE(at + 10, 6)];
  return { host: { name, readyAt, found, foundUntil, ...settings }, end };
}

function settingsAt(frame: Buffer, at: number): HostSettings {
  const blockedUntil = frame.readUIntBE(at + 16, 6);
  const [delayMs = 0, maxLeased = 0, maxUrls = 0] = [22, 26, 30].map((from) => frame.readUInt32BE(at + from));
  const own = {
    ...(delayMs > 0 && { delayMs: delayMs - 1 }),
    ...(maxLeased > 0 && { maxLeased: maxLeased - 1 }),
    ...(maxUrls > 0 && { maxUrls: maxUrls - 1 }),
  };
  return {
    ...(blockedUntil > 0 && { blockedUntil }),
    ...(delayMs + maxLeased + maxUrls > 0 && { own }),
  };
}

/** Decodes a host's name, which is empty for items that aren't URLs. */
export function hostName(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new ExportFileError("a host's name is not valid UTF-8");
  return bytes.toString();
}

function longerThanFrame(): ExportFileError {
  return new ExportFileError('a host is longer than its frame');
}
