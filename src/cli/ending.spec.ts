import { describe, expect, it } from '@jest/globals';
import { oneLine } from './ending.js';

describe('oneLine', () => {
  it.each([
    ['bücher 😀  2 waiting\n', 'bücher 😀  2 waiting'],
    ['\ta\r\n\u001b[2Jb\u009b31mc\u2028d', 'a [2Jb 31mc d'],
    // They change the direction of a text, or are invisible.
    ['a\u202eb\u2066c\u200bd\u00ad\ufeffe', 'a\\u202eb\\u2066c\\u200bd\\u00ad\\ufeffe'],
    ['a\u061cb\u3164\u{e0041}', 'a\\u061cb\\u3164\\udb40\\udc41'],
    ['x'.repeat(501), `${'x'.repeat(500)}…`],
    [`${'x'.repeat(499)}😀`, `${'x'.repeat(499)}…`],
  ])('shows %j as %j', (text, line) => {
    expect(oneLine(text)).toBe(line);
  });
});
