import fc from 'fast-check';

const words = (text: string): string[] => text.split(/[ \n]+/).filter((word) => word !== '');

/** Names that routers, file systems, stores and object literals may misread. Raw, as in a request line. */
const ODD_SEGMENTS = words(`
  . .. %2e%2e ..%2f..%2fetc%2fpasswd a%2fb a%5cb %00 a%00b %0d%0aX:1 % %zz %c3%28 %25%32%66 a;b=c // http://127.0.0.1/
  __proto__ constructor prototype toString hasOwnProperty __lookupGetter__ null undefined catalogue %7Bcatalogue%7D
  * {name} :name %7B%7D a%20b %20 - _x .x A %61 %D0%B0 %ef%bc%a1 a%CC%81 %EF%BB%BFa
`);

export const oddSegment = fc.oneof(
  fc.constantFrom(...ODD_SEGMENTS, ...[64, 65, 1_025, 9_000].map((length) => 'x'.repeat(length))),
  fc.string({ unit: 'binary', maxLength: 30 }).map((text) => encodeURIComponent(text.toWellFormed())),
  fc
    .string({ unit: 'binary-ascii', minLength: 1, maxLength: 20 })
    .map((text) => text.replace(/[\s?#/]/g, '+')),
);

/** JSON values as text, since no JavaScript value is written as `1e400` or as a member that occurs twice. */
const ODD_JSON = words(`
  null true 0 -0 -1 1e400 -1e400 1E-400 1.0 10e2 9007199254740993 0.1e-8 5e-324
  01 1. .5 +1 NaN Infinity 0x10 1_000 /**/1 1// "a 'a' ["a",,] ["a",]
  "" "__proto__" "\\u0000" "\\ud800" "\\udc00\\ud800" "\\ud83d\\ude00" "\\ufeff" "\\uD800\\u0041"
  [] {} [[]] [null] {"0":"a","length":1} {"toString":1} {"length":-1}
  {"__proto__":{"items":["a"]}} {"constructor":{"prototype":{"x":1}}}
`);
const HUGE_JSON = [
  '1'.repeat(5_000),
  `0.${'0'.repeat(400)}1`,
  '['.repeat(100_000) + ']'.repeat(100_000),
  '['.repeat(100_000),
  `${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`,
];

export const oddJson = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...ODD_JSON, ...HUGE_JSON, '\ufeff1', '\u00a01') },
  { weight: 2, arbitrary: fc.json({ stringUnit: 'binary' }) },
  { weight: 1, arbitrary: fc.double().map(String) },
  { weight: 1, arbitrary: fc.bigInt().map(String) },
);

const ODD_ITEMS = words(`
  a b A 0 null é e\u0301 ﬀ ff а ß ss 😀 \u{1f600}\ufe0f \u200b \u202e \u2028 \ufffd \ufeff \ufeffa \u0000 a\u0000
  __proto__ constructor https://example.org/
`);

/** Items that a program might confuse with each other or with no item. */
export const item = fc.oneof(
  fc.constantFrom(...ODD_ITEMS, ' a', 'a ', '', 'x'.repeat(8_192), 'x'.repeat(8_193), '€'.repeat(2_731)),
  fc.string({ unit: 'binary', maxLength: 40 }).map((text) => text.toWellFormed()),
  fc.webUrl({ withQueryParameters: true, withFragments: true }),
);

const ODD_URLS = words(`
  http:// http:///  http://a HTTP://A:80/ http:a http:\\\\a\\b //a/ http://a/? http://a/# http://a/\\..\\ http://a/%5c
  http://[::1]/ http://[::1 http://[v1.a]/ http://1/ http://0x7f.1/ http://256.1.1.1/ http://localhost:6379/
  http://a:65536/ http://a:-1/ http://a:/ http://u:p@a@b/ http://a%00/ http://%41/ http://a..b/ http://a./ http://.a/
  http://xn--/ http://xn--a/ http://bücher.de/ http://ｅxample.org/ http://a/\u0000 http://a/\t
  http://a/% http://a/%zz http://a/%2e%2e/ http://a/../.. http://a/?a&a=&&==
  javascript:1 data:,a ftp://a/ blob:http://a/ file:///etc/passwd ws://a/
`);
const LONG_URLS = [
  `http://a/?${'a&'.repeat(4_000)}`,
  `http://a/${'../'.repeat(2_600)}`,
  `http://${'a.'.repeat(200)}b/`,
];

/** URLs that parsers disagree about, and texts that aren't URLs. */
export const url = fc.oneof(item, fc.constantFrom(...ODD_URLS, ...LONG_URLS, 'http://a/\n', 'http://a/ '));
