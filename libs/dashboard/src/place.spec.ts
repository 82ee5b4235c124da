import { describe, expect, it } from '@jest/globals';
import { hashOf, placeOf } from './place.js';

describe('a place', () => {
  it('is what its link says', () => {
    const { path, query } = placeOf(hashOf(['sets', 'a b/c%'], { q: 'x&y=?', sort: '' }));
    expect(path).toEqual(['sets', 'a b/c%']);
    expect([...query]).toEqual([['q', 'x&y=?']]);
  });

  it('has a query to its end, whatever somebody has typed there', () => {
    expect(placeOf('#/x?item=http://a/?b=1').query.get('item')).toBe('http://a/?b=1');
  });

  it.each([
    ['', []],
    ['#', []],
    ['#/', []],
    ['#sets/x', ['sets', 'x']],
    ['#/sets//x/', ['sets', 'x']],
    ['#/sets/%', ['sets', '%']],
  ])('is told of what somebody has typed: %j', (hash, path) => {
    expect(placeOf(hash).path).toEqual(path);
  });
});
