import { segmentOf } from '#bloom';
import type { HiddenItem } from '../port/index.js';
import { ExportFileError } from './export-file-error.js';
import { HIDDEN_BYTES } from './format.js';
import type { ExportHeader } from './header.js';

/** Decodes a segment's hidden items. Throws if an item belongs to another segment. */
export function decodeHidden(bytes: Buffer, { geometry }: ExportHeader, segment: number): HiddenItem[] {
  if (bytes.length % HIDDEN_BYTES !== 0)
    throw new ExportFileError('a frame of hidden items ends in the middle of an item');
  return Array.from({ length: bytes.length / HIDDEN_BYTES }, (_, n) => {
    const hash = bytes.subarray(n * HIDDEN_BYTES, n * HIDDEN_BYTES + 16);
    if (segmentOf(hash.readUInt32BE(), hash.readUInt32BE(4), geometry) !== segment)
      throw new ExportFileError(`a hidden item in segment ${segment} belongs to another segment`);
    return { hash, until: bytes.readUInt32BE(n * HIDDEN_BYTES + 16) };
  });
}
