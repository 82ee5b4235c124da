import { describe, expect, it } from '@jest/globals';
import {
  decodeEntryId,
  decodeEntryName,
  encodeEntryId,
  encodeEntryName,
  MAX_PLACE_BYTES,
  type EntryId,
  type EntryName,
} from './entry-id.js';

const GENERATION = '0123456789abcdef';
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
    const decoded = decodeEntryId(GENERATION, encodeEntryId(GENERATION, parts));
    expect({ ...decoded, hashPrefix: Uint8Array.from(decoded!.hashPrefix) }).toEqual(parts);
  });

  it.each(['', 'x', 'A'.repeat(31), 'A'.repeat(33), '+'.repeat(32), '_'.repeat(32), ' '.repeat(32)])(
    'is never %j',
    (text) => expect(decodeEntryId(GENERATION, text)).toBeUndefined(),
  );

  it('has one spelling', () => {
    const text = encodeEntryId(GENERATION, id());
    expect(text).toMatch(/^[A-Za-z0-9_-]{32}$/);
    expect(encodeEntryId(GENERATION, decodeEntryId(GENERATION, text)!)).toBe(text);
    const others = [text.slice(0, 31), text.slice(0, 6), `${text}A`, `${text}=`, ` ${text}`, `${text}\n`];
    for (const other of others) expect(decodeEntryId(GENERATION, other)).toBeUndefined();
  });

  it.each([{ segment: 2 ** 32 }, { segment: -1 }, { number: 2 ** 48 }, { index: 2 ** 16 }])(
    'refuses a number that does not fit: %j',
    (parts) => expect(() => encodeEntryId(GENERATION, id(parts))).toThrow('out of range'),
  );

  it('names nothing in a set of a different generation', () => {
    expect(decodeEntryId('fedcba9876543210', encodeEntryId(GENERATION, id()))).toBeUndefined();
  });

  it('refuses a hash prefix of a different length', () => {
    expect(() => encodeEntryId(GENERATION, id({ hashPrefix: new Uint8Array(16) }))).toThrow(
      '8 bytes, not 16',
    );
  });
});

const name = (parts: Partial<EntryName> = {}): EntryName => ({
  ...{ hash: Uint8Array.from({ length: 16 }, (_, i) => 0xf0 + i), birth: 7, hostWord: 5 },
  place: Uint8Array.of(1, 2, 3, 255),
  ...parts,
});

describe('the id of an entry in its place', () => {
  it.each([
    name(),
    name({ birth: 2 ** 48 - 1, hostWord: 2 ** 32 - 1, place: new Uint8Array(MAX_PLACE_BYTES).fill(255) }),
    name({ birth: 0, hostWord: 0, place: new Uint8Array(0) }),
  ])('decodes to the parts from which it was encoded: %j', (parts) => {
    const text = encodeEntryName(GENERATION, parts);
    expect(text).toMatch(/^[A-Za-z0-9_-]{40,72}$/);
    const { hash, place, ...decoded } = decodeEntryName(GENERATION, text)!;
    expect({ ...decoded, hash: Uint8Array.from(hash), place: Uint8Array.from(place) }).toEqual(parts);
  });

  it('belongs to one generation', () => {
    expect(decodeEntryName('f'.repeat(16), encodeEntryName(GENERATION, name()))).toBeUndefined();
  });

  it.each([0, 1, 2, 3])('has one spelling with a place of %s bytes', (length) => {
    const text = encodeEntryName(GENERATION, name({ place: new Uint8Array(length) }));
    const bytes = Buffer.from(text, 'base64url');
    const spellings = Array.from(
      'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_',
      (last) => text.slice(0, -1) + last,
    ).filter((spelling) => Buffer.from(spelling, 'base64url').equals(bytes));
    expect(spellings.filter((spelling) => decodeEntryName(GENERATION, spelling))).toEqual([text]);
  });

  it('refuses a longer place', () => {
    const place = new Uint8Array(MAX_PLACE_BYTES + 1);
    expect(() => encodeEntryName(GENERATION, name({ place }))).toThrow('at most 24 bytes, not 25');
  });

  it.each(['', 'x', 'A'.repeat(39), 'A'.repeat(73), 'A'.repeat(28), '+'.repeat(40), '_'.repeat(40)])(
    'is never %j',
    (text) => expect(decodeEntryName(GENERATION, text)).toBeUndefined(),
  );
});
