import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { loadCounted } from '../../libs/url-key/src/testing/counted-steps.js';
import * as jsonError from './json-error.js';

const counted = loadCounted<typeof jsonError>(join(import.meta.dirname, 'json-error.ts'));

/** The result of a search without interruption. */
function errorAt(text: string, { jsonErrorAt } = jsonError): number {
  const search = jsonErrorAt(text);
  for (;;) {
    const { done, value } = search.next();
    if (done) return value;
  }
}

describe('jsonErrorAt', () => {
  it.each([
    ['', 0],
    ['  ', 2],
    ['{', 1],
    ['}', 0],
    ['[1,2', 4],
    ['[1,]', 3],
    ['[,1]', 1],
    ['[1 2]', 3],
    ['{"a" 1}', 5],
    ['{"a":}', 5],
    ['{"a":1,}', 7],
    ['{a:1}', 1],
    ['{1:1}', 1],
    ['[1}', 2],
    ['{"a":1]', 6],
    ['"abc', 4],
    ['"a\tb"', 2],
    ['"\\u12"', 1],
    ['"\\q"', 1],
    ['tru', 0],
    ['truex', 4],
    ['01', 1],
    ['-', 0],
    ['1.', 1],
    ['+1', 0],
    ['NaN', 0],
    ['[] []', 3],
    ['[[[[', 4],
  ])('finds the error of %j at %i', (text, position) => {
    expect(() => JSON.parse(text) as unknown).toThrow();
    expect(errorAt(text)).toBe(position);
  });

  it.each(['{}', '[]', ' [1, -2.5e+3, "\\u00e9\\n", true, false, null, {"a": [{}]}] ', '"x"', '0'])(
    'finds no error in %j',
    (text) => {
      expect(() => JSON.parse(text) as unknown).not.toThrow();
      expect(errorAt(text)).toBe(text.length);
    },
  );

  it('agrees with JSON.parse on every damaged text', () => {
    const good = JSON.stringify({ items: ['a', 'b\n', '\u20ac'], n: [1, -2.5e-7, true, null], o: { p: {} } });
    for (let at = 0; at < good.length; at++) {
      for (const damage of ['', '}', ']', ',', '"', 'x', '\u0001', '\\']) {
        const text = good.slice(0, at) + damage + good.slice(at + 1);
        let broken = false;
        try {
          JSON.parse(text);
        } catch {
          broken = true;
        }
        const position = errorAt(text);
        if (!broken) expect(position).toBe(text.length);
        // The text before the damage is valid. Bad words, exponents and escapes are reported at their start.
        else expect(position).toBeGreaterThanOrEqual(at - 3);
        if (broken) expect(position).toBeLessThanOrEqual(text.length);
      }
    }
  });

  it('accepts any depth', () => {
    expect(errorAt('['.repeat(1_000_000))).toBe(1_000_000);
  });

  it.each(['[', '{"a":', '[1,', '["\\u00e9",', ' ', '1', '"', 'x', '\\n', '[[],'])(
    'takes steps in proportion to the length: %j',
    (part) => {
      for (const start of ['', '["']) {
        const steps = (times: number): number =>
          counted.steps(() => errorAt(start + part.repeat(times), counted.exports));
        expect(steps(4_000)).toBeLessThanOrEqual(2.2 * steps(2_000));
      }
    },
  );
});
