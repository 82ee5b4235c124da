import { describe, expect, it } from '@jest/globals';
import { parseRetryAfter } from '../../libs/client/src/index.js';

const NOW = Date.parse('2026-11-27T12:00:00.500Z');

describe('parseRetryAfter', () => {
  it.each([
    ['120', 120],
    [' 0 ', 0],
    ['Fri, 27 Nov 2026 12:01:00 GMT', 60],
    ['Friday, 27-Nov-26 12:01:00 GMT', 60],
    ['Fri, 27 Nov 2026 11:59:00 GMT', 0],
  ])('reads "%s" as %i seconds', (header, seconds) => {
    expect(parseRetryAfter(header, NOW)).toBe(seconds);
  });

  it.each([null, '', '-1', '1.5', '1e3', '60s', 'soon', '2026-11-27', 'Now, please GMT', '9'.repeat(10)])(
    'finds no time in %p',
    (header) => {
      expect(parseRetryAfter(header, NOW)).toBeUndefined();
    },
  );
});
