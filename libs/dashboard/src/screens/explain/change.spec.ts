import { describe, expect, it } from '@jest/globals';
import { changeOf } from './change.js';

describe('a text’s change', () => {
  it.each([
    ['http://a/?b=2&a=1', 'http://a/?a=1&b=2', 'http://a/?', 'b=2&a=1', 'a=1&b=2', ''],
    ['http://a.:80/', 'http://a/', 'http://a', '.:80', '', '/'],
    ['aa', 'aaa', 'aa', '', 'a', ''],
    ['aaa', 'aa', 'aa', 'a', '', ''],
    ['😀/', '😁/', '', '😀', '😁', '/'],
    ['', 'a', '', '', 'a', ''],
    ['same', 'same', 'same', '', '', ''],
  ])('from %s to %s is the differing part', (before, after, head, gone, come, tail) => {
    expect(changeOf(before, after)).toEqual({ head, gone, come, tail });
  });
});
