import { describe, expect, it } from '@jest/globals';
import { lines, oneLine } from './ending.js';

describe('oneLine', () => {
  it.each([
    ['bücher 😀  2 waiting\n', 'bücher 😀  2 waiting'],
    ['\ta\r\n\u001b[2Jb\u009b31mc\u2028d', 'a [2Jb 31mc d'],
    // Invisible characters, and characters that change the direction of a text.
    ['a\u202eb\u2066c\u200bd\u00ad\ufeffe', 'a\\u202eb\\u2066c\\u200bd\\u00ad\\ufeffe'],
    ['a\u061cb\u3164\u{e0041}', 'a\\u061cb\\u3164\\udb40\\udc41'],
    ['x'.repeat(501), `${'x'.repeat(500)}…`],
    [`${'x'.repeat(499)}😀`, `${'x'.repeat(499)}…`],
    [`${'x'.repeat(494)}\u202e`, `${'x'.repeat(494)}\\u202e`],
    [`${'x'.repeat(495)}\u202e`, `${'x'.repeat(495)}…`],
    [`${'x'.repeat(489)}\u{e0041}`, `${'x'.repeat(489)}…`],
  ])('shows %j as %j', (text, line) => {
    expect(oneLine(text)).toBe(line);
  });
});

describe('lines', () => {
  it('keeps line breaks, and escapes all other invisible characters', () => {
    expect(lines('Error: a\u001b[2J\n    at b\u202e\n')).toBe('Error: a\\u001b[2J\n    at b\\u202e\n');
  });
});
