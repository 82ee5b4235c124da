import { describe, expect, it } from '@jest/globals';
import { planLayers, type Segmentation } from '#bloom';
import { MAX_SEGMENT_BYTES, redisSegmentation } from '../segmentation.js';
import { decodeHeader, encodeHeader } from './header.js';

const STORES: Readonly<Record<string, Segmentation>> = {
  embedded: { maxSegmentBytes: MAX_SEGMENT_BYTES, minSegments: 1, minSegmentBytes: 1 },
  'a Redis server': redisSegmentation(1),
  'a cluster of three masters': redisSegmentation(3),
};
const HEADER = {
  id: '01234567-89ab-cdef-0123-456789abcdef',
  name: 'crawl',
  kind: 'visited-set',
  type: 'counting',
  semantics: 'set',
  seed: new Uint8Array(16),
  maxAttempts: 5,
  urlProfile: { base: 'safe' },
  generation: '0123456789abcdef',
  createdAt: 1_700_000_000_000,
  exportedAt: 1_700_000_000_001,
} as const;
const KINDS = [
  ['a set', 4, {}],
  ['a set that ages', 8, { maxAgeSeconds: 86_400 }],
] as const;

describe.each(Object.keys(STORES))('an export from %s', (store) => {
  // On Redis, the number of segments may fall from one layer to the next, because it suits the allocator.
  it.each(KINDS)('has a header that an import accepts, whatever the size of %s', (_, cellBits, more) => {
    const segmentation = STORES[store]!;
    for (const errorRate of [0.01, 1e-4, 1e-6]) {
      for (let capacity = 1_000; capacity < 3_000_000; capacity = Math.ceil(capacity * 1.3)) {
        const layers = planLayers({ capacity, errorRate, cellBits }, segmentation, Infinity);
        const header = { ...HEADER, ...more, capacity, errorRate, geometry: layers[0].geometry, layers };
        const decoded = () => decodeHeader(JSON.parse(encodeHeader(header).toString()));
        expect([capacity, errorRate, decoded().layers]).toEqual([capacity, errorRate, layers]);
      }
    }
  });
});
