import { describe, expect, it } from '@jest/globals';
import { compileProfile, InvalidUrl, type InvalidUrlReason, normaliseProfile } from './index.js';

const { key } = compileProfile(normaliseProfile('safe'));

/** `invalid base` needs a base (see below). `too long` is for callers that limit URL length. */
const INVALID: Record<Exclude<InvalidUrlReason, 'invalid base' | 'too long'>, string[]> = {
  empty: ['', ' ', '\t\r\n', '\u0000\u001f '],
  'lone surrogate': [
    'http://example.com/\ud800',
    'http://example.com/\udc00a',
    'http://example.com/#\ud800',
    'http://\ud800.com/',
    '\ud83d',
    'http://example.com/\ude00\ud83d',
  ],
  'not absolute': [
    'example.com',
    'www.google.com/',
    '/a/b',
    '//example.com/',
    '?a=1',
    '#!a',
    'a',
    '.',
    '://example.com/',
    '1http://example.com/',
    'ht tp://example.com/',
    'https//example.com/',
    '\\\\example.com\\a',
    'é:a',
  ],
  'scheme not http or https': [
    'ftp://ftp.gnu.org/gnu/aspell/dict/am/',
    'mailto:a@example.com',
    'javascript:void(0)',
    'data:text/html,a',
    'file:///etc/passwd',
    'ws://example.com/',
    'about:blank',
    'blob:https://example.com/a',
    'view-source:http://example.com/',
    'localhost:8080/a',
    'httpx://example.com/',
    'foo://a b/',
    ' tel:+123',
  ],
  'no host': [
    'http:',
    'http://',
    'https:///',
    'http://\\',
    'http://?a',
    'http://#a',
    'http:// ',
    'http://:80/',
    'http://:/a',
    'http://user@/a',
    'http://user:pw@:80',
    'http://./',
    'http://../a',
    'http://user@.:81/',
    'http://%2E/',
  ],
  'invalid host': [
    'http:// leadingspace.com/',
    'http://%20leadingspace.com/',
    'http://a b.com/',
    'http://ex%ample.com/',
    'http://ex%00ample.com/',
    'http://\u0001\u0080.com/',
    'http://a<b>.com/',
    'http://a^b.com/',
    'http://host%23.com/',
    'http://[::1/',
    'http://[::g]/',
    'http://[1:2:3]/',
    'http://1.2.3.256/',
    'http://1.2.3.4.5/',
    'http://0x1ffffffff/',
    'http://example.09/',
    'http://xn--/',
    'http://xn--a.com/',
    'http://xn--ls8h=.la/',
    'http://xn--caf-dma.xn--a/',
    'http://%ff.com/',
    'http://%C3.com/',
    'http://a%2Fb.com/',
    'http://a\u2100b.com/',
    'http://\u05d0a.com/',
    'http://a.\u05d01a/',
    'http://a\u200db.com/',
    'http://a\u1ae0.com/',
    'http://xn--a-ugn.com/',
    'http://[::1]a/',
    'http://[::1/',
    'http://[]/',
    'http://[::1%25eth0]/',
    'http://\u00ad/',
    'http://a@b@c d/',
    'http://a b.com:80 ',
  ],
  'host too long': [
    `http://${'a'.repeat(64)}.com/`,
    `http://a.${'a'.repeat(64)}/`,
    `HTTP://a.${'a'.repeat(64)}.:80`,
    `http://${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(62)}/`,
    `http://${'a.'.repeat(126)}com/`,
    `http://${'.'.repeat(254)}a/`,
    `http://${'0'.repeat(64)}.1/`,
    `http://${'é'.repeat(60)}.com/`,
    `http://${'%C3%A9'.repeat(60)}.com/`,
    `http://${'\u00ad'.repeat(600)}a.com/`,
    `http://${'\ufdfa'.repeat(30)}.com/`,
    `http://${'%61'.repeat(64)}/`,
    `http://${'中'.repeat(2_690)}/`,
    `http://user@${'%'.repeat(8_000)}/`,
  ],
  'invalid port': [
    'http://example.com:65536/',
    'http://example.com:99999/',
    'http://example.com:-80/',
    'http://example.com:8a/',
    'http://example.com:80 80/',
    'http://[::1]:x/',
    'http://user@example.com:port',
  ],
};

describe.each(Object.entries(INVALID))('%s', (reason, urls) => {
  it.each(urls)('%j', (url) => {
    expect(key(url)).toEqual({ reason });
    expect(key(url)).toBeInstanceOf(InvalidUrl);
  });
});

describe('a host at the limits', () => {
  const labels = ['a', 'b', 'c'].map((letter) => letter.repeat(63));

  it.each([
    [`${labels.join('.')}.${'d'.repeat(61)}`, `${labels.join('.')}.${'d'.repeat(61)}`],
    [`${labels.join('.')}.${'D'.repeat(61)}.`, `${labels.join('.')}.${'d'.repeat(61)}`],
    [`${'a.'.repeat(126)}c`, `${'a.'.repeat(126)}c`],
    [`${'é'.repeat(54)}.com`, 'xn--'],
    [`${'e\u0301'.repeat(54)}.com`, 'xn--'],
    [`${'%C3%89'.repeat(54)}.com`, 'xn--'],
    [`${'a\u00ad'.repeat(63)}.com`, `${'a'.repeat(63)}.com`],
  ])('%s has a key', (host, start) => {
    for (const url of [`http://${host}`, `http://${host}:81/`, `http://u@${host}/?a`]) {
      const own = key(url);
      expect(own).toContain(start);
      expect(key(own as string)).toBe(own);
    }
  });
});

describe('an InvalidUrl', () => {
  it('is one object per reason, so that bad input allocates nothing', () => {
    expect(key('')).toBe(key('  '));
    expect(Object.isFrozen(key(''))).toBe(true);
  });
});

describe('a base', () => {
  const base = 'http://Example.com/dir/page?x#y';

  it.each([
    ['a', 'http://example.com/dir/a'],
    ['../a', 'http://example.com/a'],
    ['/a', 'http://example.com/a'],
    ['//other.com/a', 'http://other.com/a'],
    ['?b=2&a=1', 'http://example.com/dir/page?a=1&b=2'],
    ['#top', 'http://example.com/dir/page?x'],
    ['#!a', 'http://example.com/dir/page?x#!a'],
    ['', 'http://example.com/dir/page?x'],
    [' ', 'http://example.com/dir/page?x'],
    ['.', 'http://example.com/dir/'],
    ['http:a', 'http://example.com/dir/a'],
    ['https:a', 'https://a/'],
    ['\\a', 'http://example.com/a'],
    ['https://other.com/a', 'https://other.com/a'],
    ['HTTPS://other.com/a', 'https://other.com/a'],
  ])('resolves %j', (url, expected) => {
    expect(key(url, base)).toBe(expected);
  });

  it.each(['', 'a', '/a', 'mailto:a@b.c', 'file:///a', 'http://', 'http://a.b/\ud800'])(
    'matters only to a URL that needs one: %j',
    (bad) => {
      expect(key('https://other.com/a', bad)).toBe('https://other.com/a');
      expect(key('HTTPS://other.com/a', bad)).toBe('https://other.com/a');
      const refused = key('?a', bad);
      expect(refused).toBeInstanceOf(InvalidUrl);
      expect(['invalid base', 'scheme not http or https']).toContain((refused as InvalidUrl).reason);
    },
  );

  it.each([
    ['mailto:a@b.c', 'scheme not http or https'],
    ['//', 'no host'],
    ['//a b', 'invalid host'],
    ['//a:99999', 'invalid port'],
    ['\ud800', 'lone surrogate'],
  ] as const)('does not save %j', (url, reason) => {
    expect(key(url, base)).toEqual(new InvalidUrl(reason));
  });
});
