import { describe, expect, it } from '@jest/globals';
import { decodeEntryId, encodeEntryId, type EntryId } from './entry-id.js';

const hashPrefix = Uint8Array.from({ length: 8 }, (_, i) => 0xf0 + i);
const id = (parts: Partial<EntryId> = {}): EntryId => ({
  of: 'lease',
  segment: 3,
  number: 7,
  index: 5,
  hashPrefix,
  ...parts,
});

describe('the id of a queue entry', () => {
  it.each([
    id(),
    id({ of: 'dead-letter', index: 0 }),
    id({ segment: 2 ** 32 - 1, number: 2 ** 48 - 1, index: 2 ** 16 - 1 }),
    id({ segment: 0, number: 0, index: 0, hashPrefix: new Uint8Array(8) }),
  ])('decodes to the parts that it was encoded from: %j', (parts) => {
    const decoded = decodeEntryId(encodeEntryId(parts));
    expect({ ...decoded, hashPrefix: Uint8Array.from(decoded!.hashPrefix) }).toEqual(parts);
  });

  it.each(['', 'x', 'A'.repeat(27), 'A'.repeat(29), '+'.repeat(28), '_'.repeat(28), ' '.repeat(28)])(
    'is never %j',
    (text) => expect(decodeEntryId(text)).toBeUndefined(),
  );

  it('has one spelling', () => {
    const text = encodeEntryId(id());
    expect(text).toMatch(/^[A-Za-z0-9_-]{28}$/);
    expect(encodeEntryId(decodeEntryId(text)!)).toBe(text);
  });

  it.each([{ segment: 2 ** 32 }, { segment: -1 }, { number: 2 ** 48 }, { index: 2 ** 16 }])(
    'refuses a number that does not fit: %j',
    (parts) => expect(() => encodeEntryId(id(parts))).toThrow('out of range'),
  );

  it('refuses a hash prefix of another length', () => {
    expect(() => encodeEntryId(id({ hashPrefix: new Uint8Array(16) }))).toThrow('8 bytes, not 16');
  });
});
