import { describe, expect, it } from '@jest/globals';
import { hashOf, placeOf } from './place.js';

describe('a place', () => {
  it('matches its link', () => {
    const { path, query } = placeOf(hashOf(['sets', 'a b/c%'], { q: 'x&y=?', sort: '' }));
    expect(path).toEqual(['sets', 'a b/c%']);
    expect([...query]).toEqual([['q', 'x&y=?']]);
  });

  it('keeps ":" and upper case', () => {
    expect(placeOf(hashOf(['sets', 'Team:News'])).path).toEqual(['sets', 'Team:News']);
    expect(placeOf('#/sets/Team:News').path).toEqual(['sets', 'Team:News']);
  });

  it('keeps its whole query, for any typed text', () => {
    expect(placeOf('#/x?item=http://a/?b=1').query.get('item')).toBe('http://a/?b=1');
  });

  it.each([
    ['', []],
    ['#', []],
    ['#/', []],
    ['#sets/x', ['sets', 'x']],
    ['#/sets//x/', ['sets', 'x']],
    ['#/sets/%', ['sets', '%']],
  ])('parses from anything that a user may type: %j', (hash, path) => {
    expect(placeOf(hash).path).toEqual(path);
  });
});
