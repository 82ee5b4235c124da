import { describe, expect, it } from '@jest/globals';
import { CATALOGUE } from '../../src/errors/catalogue.js';
import { rowsOf } from '../support/markdown.js';

describe('docs/errors.md', () => {
  it('has the errors of the catalogue, in its order', () => {
    const rows = rowsOf('docs/errors.md', 'code').map(([code, status]) => [code, Number(status)]);
    expect(rows).toEqual(Object.entries(CATALOGUE).map(([code, { status }]) => [code, status]));
  });
});
