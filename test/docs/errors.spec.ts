import { describe, expect, it } from '@jest/globals';
import { ERRORS } from '../../src/errors/error-codes.js';
import { rowsOf } from '../support/markdown.js';

describe('docs/errors.md', () => {
  it('has the catalogue’s errors, in its order', () => {
    const rows = rowsOf('docs/errors.md', 'code').map(([code, status]) => [code, Number(status)]);
    expect(rows).toEqual(Object.entries(ERRORS).map(([code, { status }]) => [code, status]));
  });
});
