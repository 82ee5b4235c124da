import { describe, expect, it } from '@jest/globals';
import type { Positions } from '#bloom';
import { LayerState } from '../layers/layer-state.js';
import { JournalDecoder, JournalEncoder, JournalOperation } from './journal.js';

const generation = Buffer.from('0123456789abcdef', 'hex');

function batch(count: number, k: number, pageCells: number): Positions {
  return {
    count,
    hashes: k,
    hash: new Uint32Array(count * 4),
    segment: Uint32Array.from({ length: count }, (_, i) => i % 3),
    page: Uint32Array.from({ length: count }, (_, i) => i * 1_000_003),
    cell: Uint16Array.from({ length: count * k }, (_, i) => (i * 37) % pageCells),
  };
}

/** A layer with this page size, and the changed items. */
function change(positions: Positions, changed: Uint32Array, pageCells: number) {
  const shape = { hashScheme: 2, cellBits: 4, pagesPerSegment: 1, segments: 1 } as const;
  const geometry = { ...shape, pageCells, hashes: positions.hashes };
  return { layer: new LayerState(3, { capacity: 1, errorRate: 0.1, geometry }, []), positions, changed };
}

describe('journal records', () => {
  it.each([
    { pageCells: 256, k: 7 },
    { pageCells: 4096, k: 20 },
    { pageCells: 128, k: 1 },
  ])('are decoded as they were encoded: $pageCells cells per page, k=$k', ({ pageCells, k }) => {
    const all = batch(1000, k, pageCells);
    const changed = Uint32Array.from([0, 5, 6, 998, 999]);
    const encoded = new JournalEncoder().encode(
      generation,
      JournalOperation.Remove,
      change(all, changed, pageCells),
    );
    const record = new JournalDecoder().decode(Buffer.from(encoded));
    expect(record).toMatchObject({
      operation: JournalOperation.Remove,
      layer: 3,
      generation: '0123456789abcdef',
      count: 5,
      hashes: k,
    });
    const items = Array.from(changed, (i) => ({
      page: all.page[i],
      segment: all.segment[i],
      cells: [...all.cell.subarray(i * k, i * k + k)],
    }));
    expect(
      items.map((_, i) => ({
        page: record?.page[i],
        segment: record?.segment[i],
        cells: [...(record?.cell.subarray(i * k, i * k + k) ?? [])],
      })),
    ).toEqual(items);
  });

  it('may outgrow the shared buffers', () => {
    const encoder = new JournalEncoder();
    const decoder = new JournalDecoder();
    for (const count of [1, 50_000, 2]) {
      const changed = Uint32Array.from({ length: count }, (_, i) => i);
      const encoded = encoder.encode(
        generation,
        JournalOperation.Add,
        change(batch(count, 6, 256), changed, 256),
      );
      expect(decoder.decode(Buffer.from(encoded))?.count).toBe(count);
    }
  });

  it('may be empty', () => {
    const record = new JournalDecoder().decode(Buffer.from(new JournalEncoder().encodeNone(generation)));
    expect(record).toMatchObject({ operation: JournalOperation.None, count: 0 });
  });

  it('are refused if cut short or extended', () => {
    const changed = Uint32Array.from([0, 1]);
    const encoder = new JournalEncoder();
    const encoded = Buffer.from(
      encoder.encode(generation, JournalOperation.Add, change(batch(2, 3, 256), changed, 256)),
    );
    const decoder = new JournalDecoder();
    expect(decoder.decode(encoded.subarray(0, encoded.length - 1))).toBeUndefined();
    expect(decoder.decode(encoded.subarray(0, 10))).toBeUndefined();
    expect(decoder.decode(Buffer.concat([encoded, Buffer.of(0)]))).toBeUndefined();
  });
});
