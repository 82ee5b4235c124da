import { describe, expect, it } from '@jest/globals';
import { ANONYMOUS } from '../request/principal.js';
import { countedCaller } from './caller-hook.js';

const KEY = { ...ANONYMOUS, id: 'key:0123456789abcdef' };

describe('the caller a request is counted as', () => {
  it('is the principal’s, wherever they are', () => {
    for (const ip of ['127.0.0.1', '192.0.2.1']) {
      expect(countedCaller(KEY, ip)).toBe('key:0123456789abcdef');
    }
  });

  it('is the address’s without credentials', () => {
    expect(countedCaller(ANONYMOUS, '192.0.2.1')).toBe('address:192.0.2.1');
    expect(countedCaller(undefined, '2001:db8::1')).toBe('address:2001:db8::1');
  });

  it.each(['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1'])('is nobody’s on %s', (ip) => {
    expect(countedCaller(ANONYMOUS, ip)).toBeUndefined();
  });
});
