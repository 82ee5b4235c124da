import { randomBytes, randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { makeId, readMadeId } from './made-id.js';

describe('made operation ids', () => {
  it('are UUIDs of version 7 that carry time and fingerprint', () => {
    const id = makeId(0xdeadbeef, 1_700_000_000_123);
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(readMadeId(id)).toEqual({ madeAt: 1_700_000_000_123, fingerprint: 0xadbeef });
  });

  it('are distinct, also within a millisecond and for one request', () => {
    const ids = new Set(Array.from({ length: 10_000 }, () => makeId(7, 1_000)));
    expect(ids.size).toBe(10_000);
  });

  it('sort by time', () => {
    expect(makeId(1, 1_000) < makeId(1, 1_001)).toBe(true);
  });

  it('are not confused with the keys of callers', () => {
    const foreign = (): string => {
      const hex = randomBytes(16).toString('hex');
      return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-7${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
    };
    for (let i = 0; i < 1_000; i++) {
      expect(readMadeId(foreign())).toBeUndefined();
      expect(readMadeId(randomUUID())).toBeUndefined();
    }
    for (const key of ['', 'x'.repeat(36), makeId(1, 1).toUpperCase(), `${makeId(1, 1)} `]) {
      expect(readMadeId(key)).toBeUndefined();
    }
  });

  it('show every altered digit', () => {
    const id = makeId(0x123456, Date.now());
    for (let at = 0; at < id.length; at++) {
      const digit = id[at] as string;
      if (digit === '-') continue;
      const other = ((parseInt(digit, 16) + 1) % 16).toString(16);
      expect(readMadeId(id.slice(0, at) + other + id.slice(at + 1))).toBeUndefined();
    }
  });
});
