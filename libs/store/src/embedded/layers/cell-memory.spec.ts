import { describe, expect, it } from '@jest/globals';
import type { Geometry } from '#bloom';
import { allocateCells, assertAvailable, reserveCells } from './cell-memory.js';

const SMALL: Geometry = {
  ...{ hashScheme: 2, cellBits: 4, hashes: 6, pageCells: 128 },
  ...{ pagesPerSegment: 1, segments: 1 },
};
const full = expect.objectContaining({ code: 'STORE_FULL' });

describe('memory for cells', () => {
  it('causes STORE_FULL if the machine has too little free, even if the kernel would promise it', async () => {
    expect(() => assertAvailable(2 * process.availableMemory())).toThrow(full);
    const pagesPerSegment = 2 ** 18;
    const segments = Math.ceil((2 * process.availableMemory()) / (pagesPerSegment * 64));
    await expect(reserveCells({ ...SMALL, pagesPerSegment, segments })).rejects.toEqual(full);
  });

  it('causes STORE_FULL if there are more segments than a journal record can name', () => {
    expect(allocateCells({ ...SMALL, segments: 2 ** 16 })).toHaveLength(2 ** 16);
    expect(() => allocateCells({ ...SMALL, segments: 2 ** 16 + 1 })).toThrow(full);
  });
});
