/**
 * The layout of an export file, version 2. docs/export-format.md describes it for other programs. Never edit a version,
 * only add one. All numbers are unsigned and big-endian.
 *
 *   magic   11 bytes: 89 "UNSEEN" 0D 0A 1A 0A, which a conversion of line endings breaks
 *   version  1 byte
 *   frames  type (1 byte), length of the payload (4), payload, CRC-32 of all these (4)
 *
 *   H  once, first   the filter: JSON (header.ts)
 *   Q  any number    segment (4), then entries: hash (16), discovery time (4, seconds since 1970), priority (1),
 *                    attempts (3), length of the reason (2), length of the payload (4), time for which it is scheduled
 *                    (6, ms since 1970, or 0), reason and payload in UTF-8. Only dead letters have a reason. If the
 *                    header has perHost, the length of the host's name (2) precedes the reason, and the name in UTF-8
 *                    follows the payload.
 *   L  any number    if the header has perHost: segment (4), then lanes: when the host may be leased from (6, ms since
 *                    1970), discoveries (4), when their count restarts (6), end of its block (6, ms since 1970), its
 *                    own delayMs, maxLeased and maxUrls (4 each, plus one, or 0 if absent), length of the host's name
 *                    (2), name in UTF-8
 *   X  any number    if the filter ages: segment (4), then hidden items: hash (16), last epoch of hiding (4)
 *   C  any number    segment (4), layer (1), then cells as in the store
 *   E  once, last    counts, and the SHA-256 of everything before this frame: JSON
 *
 * Segments come in order. In each segment, the queue and lanes come first, then the hidden items, and then the cells.
 * If the filter ages, a frame of cells has whole pages. If the filter grows, a segment has cells for each existing
 * layer, oldest first. A layer may have several segments for each of the filter's segments. These follow one another,
 * and `segment` is their number in the layer.
 *
 * Version 1 has no priorities and no scheduled entries, so attempts take 4 bytes, and the time (6) is absent.
 */
export const MAGIC = Buffer.from('89554e5345454e0d0a1a0a', 'hex');
export const VERSION = 2;
/** The first version in which entries have a priority and a time. */
export const ORDERED_VERSION = 2;

export const HEADER = 'H';
export const QUEUE = 'Q';
export const HOSTS = 'L';
export const HIDDEN = 'X';
export const CELLS = 'C';
export const END = 'E';

export const FRAME_HEAD_BYTES = 5;
export const CRC_BYTES = 4;
/** Bytes before the contents of Q, L and X. */
export const SEGMENT_BYTES = 4;
/** Bytes before the contents of C. */
export const CELLS_HEAD_BYTES = 5;
/** Bytes of an item in X. */
export const HIDDEN_BYTES = 20;
/** Bytes before an entry's reason and payload, without the length of a host's name. Version 1 also lacks the time. */
export const ENTRY_HEAD_BYTES = 36;
export const TIME_BYTES = 6;
/** Entry priorities by number. */
export const PRIORITY_OF = ['normal', 'high', 'low'] as const;
/** Size of the length field of a host's name, in bytes. */
export const HOST_LENGTH_BYTES = 2;
/** Bytes of a lane before its host's name. */
export const HOST_HEAD_BYTES = 36;
/** Maximum length of a frame's payload, in bytes. For H and E, it is MAX_JSON_BYTES. */
export const MAX_PAYLOAD_BYTES = 2 * 2 ** 20;
export const MAX_JSON_BYTES = 65_536;
