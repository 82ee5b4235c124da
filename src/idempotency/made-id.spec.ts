import { randomBytes, randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { makeId, readMadeId } from './made-id.js';

describe('generated operation ids', () => {
  it('are visible ASCII, with time and fingerprint', () => {
    const id = makeId(0xdeadbeef, 1_700_000_000_123);
    expect(id).toMatch(/^unseen-018bcfe5687b[0-9a-f]{8}deadbeef[0-9a-f]{8}$/);
    expect(readMadeId(id)).toEqual({ madeAt: 1_700_000_000_123, fingerprint: 0xdeadbeef });
    expect(readMadeId(makeId(0, 0))).toEqual({ madeAt: 0, fingerprint: 0 });
  });

  it('are distinct, even in one millisecond and for one request', () => {
    const ids = new Set(Array.from({ length: 10_000 }, () => makeId(7, 1_000)));
    expect(ids.size).toBe(10_000);
  });

  it('sort by time', () => {
    expect(makeId(1, 1_000) < makeId(1, 1_001)).toBe(true);
  });

  it('have a form that no UUID has, so a caller’s own key never looks like one', () => {
    const id = makeId(1, 1);
    for (const key of ['', 'x'.repeat(43), id.toUpperCase(), `${id} `, ` ${id}`, id.slice(7), randomUUID()]) {
      expect(readMadeId(key)).toBeUndefined();
    }
    // A version 7 UUID that earlier code mistook for a generated id, which happened with one in 16 million.
    expect(readMadeId('018bcfe5-687b-7b9c-8e21-adbeefa60b16')).toBeUndefined();
    for (let i = 0; i < 1_000; i++) {
      expect(readMadeId(randomBytes(18).toString('hex'))).toBeUndefined();
    }
  });

  it('reveal every altered digit', () => {
    const id = makeId(0x123456, Date.now());
    for (let at = 'unseen-'.length; at < id.length; at++) {
      const digit = id[at] as string;
      const other = ((parseInt(digit, 16) + 1) % 16).toString(16);
      expect(readMadeId(id.slice(0, at) + other + id.slice(at + 1))).toBeUndefined();
    }
  });
});
