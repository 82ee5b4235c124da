import { describe, expect, it } from '@jest/globals';
import { planLayers, positionsOf, type Geometry } from '#bloom';
import { ExportFileError, type FilterSpec, type Part } from '#store';
import { checkedQueue } from './checked-queue.js';

const seed = new Uint8Array(16);
const sizing = { capacity: 100, errorRate: 1e-3, cellBits: 4 } as const;
const segmentation = { maxSegmentBytes: 2 ** 20, minSegments: 1, minSegmentBytes: 1, spread: 1 };
const layers = planLayers(sizing, segmentation, 1);
const { geometry } = layers[0];
const spec: FilterSpec = {
  ...{ name: 'crawl', kind: 'visited-set', type: 'counting', semantics: 'set', ...sizing },
  ...{ geometry, layers, seed, perHost: {}, urlProfile: 'safe' },
};

function hashOf(key: string, of: Geometry): Buffer {
  const hash = Buffer.alloc(16);
  for (const [n, word] of positionsOf([key], seed, of).hash.entries()) hash.writeUInt32BE(word, 4 * n);
  return hash;
}

async function check(url: string, key: string, host: string): Promise<void> {
  const payload = Buffer.from(url);
  const entry = { hash: hashOf(key, geometry), attempt: 0, discoveredAt: 0, payload, host };
  const given = async function* (): AsyncGenerator<Part> {
    yield { type: 'queue', segment: 0, entries: [entry] };
  };
  for await (const _ of checkedQueue(given(), spec, 1_000));
}

describe('a queue entry in an export', () => {
  it('is accepted with its key’s host', async () => {
    await check('HTTP://A.example:8080/x', 'http://a.example:8080/x', 'a.example');
    await check('http://[::1]:80/', 'http://[::1]/', '[::1]');
  });

  it.each(['b.example', 'a.example:8080', 'A.example'])('is refused with the host %s', async (host) => {
    const checked = check('http://a.example:8080/x', 'http://a.example:8080/x', host);
    await expect(checked).rejects.toThrow(ExportFileError);
    await expect(checked).rejects.toThrow(/a queue entry has a different host than its URL/);
  });
});
