import type { Random } from '../support/random.js';

/** The routes for bodies, under the names that the test has created. */
export const TARGETS = ['urls', 'all-rules', 'items', 'create', 'plan', 'path', 'query', 'header'] as const;
export const FORMATS = ['json', 'raw', 'ndjson', 'text'] as const;

/** A recipe for a body. Each entry is `head`, as many copies of `fragment` as fit, and `tail`. */
export interface Shape {
  readonly target: (typeof TARGETS)[number];
  readonly verb: number;
  readonly format: (typeof FORMATS)[number];
  readonly head: string;
  readonly fragment: string;
  readonly tail: string;
  /** About how many characters an entry has. */
  readonly length: number;
  /** About how many bytes the body has. */
  readonly bytes: number;
}

export const MAX_BODY_BYTES = 4 * 2 ** 20;
/** A block of a stream is a thousand lines, so more bytes only make more blocks. */
const MAX_STREAMED_BYTES = 8 * 2 ** 20;

const LENGTHS = [1, 8, 60, 400, 1_000, 2_700, 8_100, 8_192, 40_000, 2 ** 22];
const HEADS = [
  '',
  'http://a.example/',
  'http://A.Example/',
  'http://',
  'http://a.example/?',
  'http://[',
  'a:',
  'HTTP:\\\\',
];
const TAILS = ['', '/', '\xff', '"', '\\', ']', '}', '#!', '\ufffd', '?a=1'];
/** Different CJK characters, which a table and a sort convert to ASCII. */
const IDEOGRAPHS = Array.from({ length: 2_690 }, (_, i) => String.fromCharCode(0x4e00 + i)).join('');
const FRAGMENTS = [
  ...[
    'a',
    'é',
    '日',
    '😀',
    '\ufffd',
    '%',
    '%41',
    '%c3%a9',
    '/',
    '../',
    './',
    '//',
    ';jsessionid=a1',
    '/(S(a))',
  ],
  ...[
    'a=&',
    'a=1&',
    '&',
    'b=%20&a=+&',
    'sid=0123456789abcdef0123456789abcdef&',
    'utm_source=a&',
    'www.',
    '.',
    'xn--a.',
  ],
  ...[
    '\\n',
    '\\u0001',
    '\\u00e9',
    '\\ud83d\\ude00',
    '\\',
    '"',
    '[',
    '{"a":',
    '1',
    '1,',
    '"a",',
    '0.1e1',
    ' ',
    '\n',
    '\r\n',
  ],
  ...[IDEOGRAPHS, '@', ':', '[::]', 'a@', '-', '--', '1.', '0x', '\t', '\x00'],
];

/** Shapes that once blocked the process for seconds. */
export const KNOWN: readonly Shape[] = [
  shape({ target: 'urls', head: 'http://', fragment: IDEOGRAPHS, length: 2_690 }),
  shape({ target: 'urls', head: 'http://A.Example/', fragment: 'é', length: 800 }),
  shape({ target: 'all-rules', head: 'http://a.example/?', fragment: 'a=&', length: 1_600 }),
  shape({ target: 'all-rules', head: 'http://a.example/?', fragment: 'a=&', length: 8_100 }),
  shape({ target: 'urls', head: 'http://a.example/', fragment: 'a', length: 20 }),
  shape({ target: 'items', format: 'raw', fragment: '\ufffd', length: 2 ** 22, tail: '\xff' }),
  shape({ target: 'items', format: 'raw', head: '{"items":["', fragment: '\\n', length: 2 ** 22 }),
  shape({
    target: 'items',
    format: 'ndjson',
    fragment: '\\u0001',
    length: 48_000,
    bytes: MAX_STREAMED_BYTES,
  }),
  shape({ target: 'items', format: 'text', fragment: '\n', length: 2 ** 22, bytes: MAX_STREAMED_BYTES }),
  shape({ target: 'plan' }),
];

function shape(some: Partial<Shape>): Shape {
  const usual = {
    target: 'urls',
    verb: 0,
    format: 'json',
    head: '',
    fragment: 'a',
    tail: '',
    length: 60,
  } as const;
  return { ...usual, bytes: MAX_BODY_BYTES - 1_024, ...some };
}

const one = <T>(random: Random, of: readonly T[]): T => of[random.below(of.length)] as T;

export function randomShape(random: Random): Shape {
  const format = one(random, FORMATS);
  return shape({
    target: one(random, TARGETS),
    verb: random.below(4),
    format,
    head: one(random, HEADS),
    fragment: one(random, FRAGMENTS),
    tail: one(random, TAILS),
    length: one(random, LENGTHS),
    ...(format !== 'json' && format !== 'raw' && { bytes: MAX_STREAMED_BYTES }),
  });
}

/** The shape with one random change. */
export function mutated(random: Random, from: Shape): Shape {
  const other = randomShape(random);
  switch (random.below(6)) {
    case 0:
      return { ...from, target: other.target };
    case 1:
      return { ...from, format: other.format, bytes: other.bytes };
    case 2:
      return { ...from, head: other.head, verb: other.verb };
    case 3:
      return { ...from, fragment: random.below(2) === 0 ? other.fragment : from.fragment + other.fragment };
    case 4:
      return { ...from, tail: other.tail };
    default:
      return { ...from, length: random.below(2) === 0 ? other.length : Math.ceil(from.length / 2) };
  }
}

/** A body's bytes. `run` makes its entries differ from other runs' entries. */
export function bodyOf({ format, head, fragment, tail, length, bytes, target }: Shape, run: number): Buffer {
  // Bytes, so that a tail with one invalid byte doesn't become UTF-8.
  const raw = (text: string): Buffer => (text === '\xff' ? Buffer.of(0xff) : Buffer.from(text));
  const text = (number: number, room = length): string =>
    `${head}${fragment.repeat(Math.ceil(Math.max(1, room - head.length) / fragment.length))}`.slice(0, room) +
    `${run}-${number}`;
  if (format === 'raw') return Buffer.concat([Buffer.from(text(0, bytes)).subarray(0, bytes), raw(tail)]);
  const isJson = format === 'json';
  // Text that contains escapes is JSON-escaped already.
  const quoted = (entry: string): string => (entry.includes('\\') ? `"${entry}"` : JSON.stringify(entry));
  const write = (entry: string): string => (format === 'text' ? entry : quoted(entry));
  const entries: string[] = [];
  const most = isJson ? 10_000 : 2_000;
  for (let size = 0; entries.length < most;) {
    const entry = write(text(entries.length) + tail);
    size += Buffer.byteLength(entry) + 1;
    if (size > bytes) break;
    entries.push(entry);
  }
  const name = target === 'items' ? 'items' : 'urls';
  return Buffer.from(isJson ? `{"${name}":[${entries.join(',')}]}` : entries.join('\n'));
}
