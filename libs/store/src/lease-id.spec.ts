import { describe, expect, it } from '@jest/globals';
import { decodeLeaseId, encodeLeaseId } from './lease-id.js';

const hash = Uint8Array.from({ length: 16 }, (_, i) => i * 17);

describe('lease ids', () => {
  it.each([
    { segment: 0, lease: 0 },
    { segment: 7, lease: 1 },
    { segment: 0xffff_ffff, lease: Number.MAX_SAFE_INTEGER },
    { segment: 1, lease: 2 ** 32 },
  ])('come back as they were made: %j', ({ segment, lease }) => {
    const decoded = decodeLeaseId(encodeLeaseId({ segment, hash, lease }));
    expect(decoded?.segment).toBe(segment);
    expect(decoded?.lease).toBe(lease);
    expect([...(decoded?.hash ?? [])]).toEqual([...hash]);
  });

  it.each([
    ['empty', ''],
    ['short', 'AAAA'],
    ['long', 'A'.repeat(40)],
    ['of another alphabet', '+'.repeat(36)],
    ['padded', `${'A'.repeat(35)}=`],
    ['of an impossible lease number', `${'A'.repeat(26)}${'_'.repeat(10)}`],
  ])('are undefined when %s', (_, id) => {
    expect(decodeLeaseId(id)).toBeUndefined();
  });

  it('refuse a hash of another length and a number that is none', () => {
    expect(() => encodeLeaseId({ segment: 0, hash: new Uint8Array(8), lease: 1 })).toThrow(RangeError);
    expect(() => encodeLeaseId({ segment: 0, hash, lease: -1 })).toThrow(RangeError);
    expect(() => encodeLeaseId({ segment: 0, hash, lease: 1.5 })).toThrow(RangeError);
  });
});
