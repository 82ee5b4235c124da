import { describe, expect, it } from '@jest/globals';
import {
  decodeEntryId,
  decodeEntryName,
  encodeEntryId,
  encodeEntryName,
  type EntryId,
  type EntryName,
} from './entry-id.js';

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

const GENERATION = '0123456789abcdef';
const name = (parts: Partial<EntryName> = {}): EntryName => ({
  ...{ hash: Uint8Array.from({ length: 16 }, (_, i) => 0xf0 + i), birth: 7, hostWord: 5 },
  ...parts,
});

describe('the id of an entry wherever it is', () => {
  it.each([name(), name({ birth: 2 ** 48 - 1, hostWord: 2 ** 32 - 1 }), name({ birth: 0, hostWord: 0 })])(
    'decodes to the parts that it was encoded from: %j',
    (parts) => {
      const text = encodeEntryName(GENERATION, parts);
      expect(text).toMatch(/^[A-Za-z0-9_-]{40}$/);
      const decoded = decodeEntryName(GENERATION, text)!;
      expect({ ...decoded, hash: Uint8Array.from(decoded.hash) }).toEqual(parts);
    },
  );

  it('belongs to one generation', () => {
    expect(decodeEntryName('f'.repeat(16), encodeEntryName(GENERATION, name()))).toBeUndefined();
  });

  it.each(['', 'x', 'A'.repeat(39), 'A'.repeat(41), 'A'.repeat(28), '+'.repeat(40), '_'.repeat(40)])(
    'is never %j',
    (text) => expect(decodeEntryName(GENERATION, text)).toBeUndefined(),
  );
});
