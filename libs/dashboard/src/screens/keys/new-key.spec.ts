import { describe, expect, it } from '@jest/globals';
import { byteCount, EMPTY_KEY, faultsOfKey, keyOf } from './new-key.js';

describe('a size', () => {
  it.each([
    ['500 MB', 500e6],
    ['1.5G', 1.5e9],
    ['1,000,000', 1e6],
    ['64 kB', 64e3],
    ['2 TB', 2e12],
    ['0', NaN],
    ['', NaN],
    ['MB', NaN],
    ['5 parsecs', NaN],
    ['1.2.3', NaN],
    ['9'.repeat(400), NaN],
  ])('of %j is %d', (text, size) => {
    expect(byteCount(text)).toBe(size);
  });
});

describe('the form for a new key', () => {
  it('contains exactly the typed members', () => {
    expect(keyOf({ ...EMPTY_KEY, name: 'crawler', scope: 'write' })).toEqual({
      name: 'crawler',
      scopes: ['write'],
    });
    const bounded = { ...EMPTY_KEY, name: 'acme', maxFilters: '1k', maxBytes: '2 GB' };
    // Limits apply only to a key with a prefix.
    expect(keyOf(bounded)).toEqual({ name: 'acme', scopes: ['read'] });
    expect(keyOf({ ...bounded, prefix: 'acme-' })).toEqual({
      name: 'acme',
      scopes: ['read'],
      prefix: 'acme-',
      maxFilters: 1_000,
      maxBytes: 2e9,
    });
  });

  it('contains the chosen expiry', () => {
    const endsAt = '2199-12-31T23:59';
    expect(keyOf({ ...EMPTY_KEY, ends: 'at', endsAt }).expiresAt).toBe(new Date(endsAt).toISOString());
    const before = Date.now();
    const days = (Date.parse(keyOf({ ...EMPTY_KEY, ends: '90' }).expiresAt ?? '') - before) / 86_400_000;
    expect(Math.round(days)).toBe(90);
  });

  it('reports faulty fields', () => {
    expect(faultsOfKey({ ...EMPTY_KEY, name: 'a' })).toEqual({});
    const wrong = { name: ' a', prefix: 'acme', maxFilters: '1.5', maxBytes: 'much', ends: 'at', endsAt: '' };
    expect(Object.keys(faultsOfKey({ ...EMPTY_KEY, ...wrong })).sort()).toEqual([
      'endsAt',
      'maxBytes',
      'maxFilters',
      'name',
      'prefix',
    ]);
    expect(faultsOfKey({ ...EMPTY_KEY, name: 'a', ends: 'at', endsAt: '2001-01-01T00:00' })).toHaveProperty(
      'endsAt',
    );
    expect(faultsOfKey({ ...EMPTY_KEY, name: 'a', prefix: 'Acme:' })).toEqual({});
    // Fields that the key doesn't use are not checked.
    expect(faultsOfKey({ ...EMPTY_KEY, name: 'a', maxBytes: 'much' })).toEqual({});
  });
});
