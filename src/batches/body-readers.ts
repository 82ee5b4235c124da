import type { BodyReaders } from '../http/body.js';
import { LINE_FORMATS, type LineFormat } from './line-format.js';
import { LineInput } from './line-input.js';
import { PackedItems } from './packed-items.js';

export const BATCH_READERS: BodyReaders = {
  streamed: [
    {
      mediaTypes: [...LINE_FORMATS.keys()],
      isTakenBy: ({ batch }) => batch !== undefined,
      open: (payload, mediaType, permit) =>
        new LineInput(payload, LINE_FORMATS.get(mediaType) as LineFormat, permit),
    },
  ],
  packed: (raw, parse) => PackedItems.of(raw, parse),
};
