import { describe, expect, it } from '@jest/globals';
import { encodingFor } from './encoding.js';

describe('an asset’s encoding', () => {
  it.each([
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip', 'gzip'],
    ['BR;q=0.5', 'br'],
    ['br;q=0, gzip', 'gzip'],
    ['br; q=0.000, gzip;q=0.1', 'gzip'],
    ['zstd', undefined],
    ['', undefined],
    [undefined, undefined],
  ])('for %j is %s', (accepted, encoding) => {
    expect(encodingFor(accepted, ['br', 'gzip'])).toBe(encoding);
  });

  it('is undefined if the asset has no encodings', () => {
    expect(encodingFor('br', [])).toBeUndefined();
  });
});
