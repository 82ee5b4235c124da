import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { crc32 } from 'node:zlib';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { DEFAULT_HASH_SCHEME, HOST_HASH_SCHEME, hostWords, segmentBytes, segmentOf } from '#bloom';
import { Random } from '../../../../test/support/random.js';
import { countCells } from '../transfer/cell-counts.js';
import { MAX_ATTEMPT, MAX_BLOCKED_UNTIL, type Part } from '../port/index.js';
import { ExportFileReader } from './decode.js';
import { encodeExportFile } from './encode.js';
import { ExportFileError } from './export-file-error.js';
import { ENTRY_HEAD_BYTES, MAGIC, VERSION } from './format.js';
import type { ExportHeader } from './header.js';

const GEOMETRY = {
  hashScheme: DEFAULT_HASH_SCHEME,
  cellBits: 4,
  hashes: 6,
  pageCells: 128,
  pagesPerSegment: 1,
  segments: 2,
} as const;
const HEADER: ExportHeader = {
  id: '01234567-89ab-cdef-0123-456789abcdef',
  name: 'crawl',
  kind: 'visited-set',
  type: 'counting',
  semantics: 'set',
  capacity: 10,
  errorRate: 0.01,
  geometry: GEOMETRY,
  seed: Uint8Array.from({ length: 16 }, (_, i) => i),
  maxAttempts: 5,
  urlProfile: { base: 'safe' },
  generation: '0123456789abcdef',
  createdAt: 1_700_000_000_000,
  exportedAt: 1_700_000_000_001,
};
const COUNTS = { items: 2, added: 3, duplicate: 4, removed: 1, refused: 5 };

function cellsPart(segment: number, cells: Uint8Array): Part {
  return { type: 'cells', layer: 0, segment, cells, ...countCells(cells, GEOMETRY) };
}

function parts(): Part[] {
  const random = new Random(1);
  const cells = () => random.bytes(segmentBytes(GEOMETRY));
  const hash = (first: number) => Uint8Array.from({ length: 16 }, (_, i) => (i === 0 ? first : i));
  const [first, second] = [cells(), cells()];
  return [
    {
      type: 'queue',
      segment: 0,
      entries: [
        {
          ...{ hash: hash(0x7f), discoveredAt: 2 ** 32 - 1, attempt: 3, reason: 'HTTP 503, „später“' },
          payload: Buffer.from('https://ü.example/'),
        },
      ],
    },
    cellsPart(0, first.subarray(0, 10)),
    cellsPart(0, first.subarray(10)),
    {
      type: 'queue',
      segment: 1,
      entries: [
        { hash: hash(0x80), discoveredAt: 0, attempt: 0, priority: 'low', payload: new Uint8Array(0) },
        {
          ...{ hash: hash(0x81), discoveredAt: 9, attempt: MAX_ATTEMPT, priority: 'high' },
          ...{ payload: Buffer.from('y'), scheduledAt: 2 ** 48 - 1 },
        },
        { hash: hash(0xff), discoveredAt: 7, attempt: MAX_ATTEMPT, payload: Buffer.from('x') },
      ],
    },
    cellsPart(1, second),
    { type: 'counts', counts: COUNTS, layerItems: [COUNTS.items] },
  ];
}

async function* given<T>(values: readonly T[]): AsyncGenerator<T, void, undefined> {
  yield* values;
}

async function encode(header: ExportHeader, of: readonly Part[]): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of encodeExportFile(header, given(of))) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function decode(chunks: readonly Uint8Array[]): Promise<{ header: ExportHeader; parts: Part[] }> {
  const reader = new ExportFileReader(given(chunks));
  const header = await reader.header();
  const found: Part[] = [];
  for await (const part of reader.parts(header)) found.push(part);
  return { header, parts: found };
}

async function refusal(bytes: Buffer): Promise<string> {
  const outcome = await decode([bytes]).then(
    () => 'was taken',
    (error: unknown) => error,
  );
  if (outcome instanceof ExportFileError) return outcome.message;
  throw new Error(`not refused as a file: ${String(outcome)}`);
}

/** A file with these frames, each with a valid checksum, and an end frame with the right SHA-256. */
function forged(
  frames: readonly (readonly [type: string, payload: Buffer])[],
  end?: object,
  version = VERSION,
): Buffer {
  const framed = ([type, payload]: readonly [string, Buffer]) => {
    const head = Buffer.alloc(5);
    head.write(type);
    head.writeUInt32BE(payload.length, 1);
    const crc = Buffer.alloc(4);
    crc.writeUInt32BE(crc32(payload, crc32(head)));
    return Buffer.concat([head, payload, crc]);
  };
  const body = Buffer.concat([MAGIC, Buffer.of(version), ...frames.map(framed)]);
  const sha256 = createHash('sha256').update(body).digest('hex');
  return Buffer.concat([body, framed(['E', Buffer.from(JSON.stringify({ ...end, sha256 }))])]);
}

const json = (header: object) => Buffer.from(JSON.stringify(header));
const headerJson = { ...HEADER, seed: Buffer.from(HEADER.seed).toString('hex') };
const ofLayer = (layer: number, segment: number, content: Uint8Array) =>
  inSegment(segment, Buffer.concat([Buffer.of(layer), content]));

const inSegment = (segment: number, content: Uint8Array) => {
  const head = Buffer.alloc(4);
  head.writeUInt32BE(segment);
  return Buffer.concat([head, content]);
};

describe('an export file', () => {
  let file: Buffer;
  beforeAll(async () => {
    file = await encode(HEADER, parts());
  });

  it.each([1, 7, 1_000_000])('is decoded as it was encoded, %i bytes at a time', async (size) => {
    const chunks = [];
    for (let at = 0; at < file.length; at += size)
      chunks.push(file.subarray(at, at + size), new Uint8Array(0));
    const found = await decode(chunks);
    expect({ ...found.header, seed: [...found.header.seed] }).toEqual({ ...HEADER, seed: [...HEADER.seed] });
    expect(plain(found.parts)).toEqual(plain(parts()));
  });

  it('cut short at any byte is refused', async () => {
    for (let length = 0; length < file.length; length++) {
      expect(await refusal(file.subarray(0, length))).toMatch(/truncated|its signature is missing/);
    }
  });

  it('with any byte altered is refused', async () => {
    const random = new Random();
    for (let at = 0; at < file.length; at++) {
      for (const change of [0xff, 1 << random.below(8), 1 + random.below(255)]) {
        const altered = Buffer.from(file);
        altered[at] = (altered[at] as number) ^ change;
        await refusal(altered);
      }
    }
  });

  it('with bytes after its end is refused', async () => {
    expect(await refusal(Buffer.concat([file, Buffer.of(0)]))).toContain('continues after the end');
  });

  it('from another program or version is refused with that reason', async () => {
    for (const foreign of ['', '{"name":"crawl"}', 'GIF89a', '\0'.repeat(1_000)].map((text) =>
      Buffer.from(text),
    )) {
      expect(await refusal(foreign)).toContain('its signature is missing');
    }
    expect(await refusal(gzipSync(file))).toContain('its signature is missing');
    expect(await refusal(Buffer.from(file.toString('latin1').replace('\r\n', '\n'), 'latin1'))).toContain(
      'signature',
    );
    const later = Buffer.from(file);
    later[MAGIC.length] = 99;
    expect(await refusal(later)).toContain('format version 99; this service reads versions 1 to 2');
  });

  it('takes no memory for a false length', async () => {
    const lying = Buffer.concat([file.subarray(0, 12), Buffer.from('48ffffffff', 'hex'), Buffer.alloc(100)]);
    const before = process.memoryUsage().arrayBuffers;
    expect(await refusal(lying)).toContain('the export is damaged');
    lying.write('C', 12);
    expect(await refusal(lying)).toContain('the export is damaged');
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2 ** 22);
  });
});

describe('a forged header', () => {
  const geometry = (changes: object) => ({ geometry: { ...GEOMETRY, ...changes } });
  const LAYER = { capacity: HEADER.capacity, errorRate: HEADER.errorRate / 2, geometry: GEOMETRY };
  const layer = (changes: object) => ({ ...LAYER, ...geometry(changes) });
  it.each([
    ['another id', { id: 7 }, 'id must match'],
    ['no name', { name: undefined }, 'name is missing; it must match'],
    ['a name too long', { name: 'x'.repeat(65) }, 'name must match'],
    ['another kind', { kind: 'map' }, 'kind must be one of'],
    ['another type', { type: 'quotient' }, 'type must be one of'],
    ['unknown semantics', { semantics: 'bag' }, 'semantics must be one of'],
    ['a visited set that counts', { semantics: 'multiset' }, 'a visited set is a counting filter'],
    [
      'a standard multiset',
      { kind: 'filter', type: 'standard', semantics: 'multiset', ...geometry({ cellBits: 1 }) },
      'standard',
    ],
    ['a filter with a profile', { kind: 'filter' }, 'only a visited set has a urlProfile'],
    [
      'a filter with a limit of attempts',
      { kind: 'filter', urlProfile: undefined, maxAttempts: 3 },
      'only a visited set has maxAttempts',
    ],
    ['maxAttempts 0', { maxAttempts: 0 }, 'maxAttempts must be a whole number from 1 to'],
    ['capacity 0', { capacity: 0 }, 'capacity must be a whole number from 1 to'],
    ['capacity 2^53', { capacity: 2 ** 53 }, 'capacity must be'],
    ['errorRate 0', { errorRate: 0 }, 'errorRate'],
    ['errorRate 1', { errorRate: 1 }, 'errorRate'],
    [
      'more items than its cells hold',
      { capacity: 1_000 },
      /the geometry holds 2\d items at errorRate 0.01, fewer than the capacity 1000/,
    ],
    [
      'an error rate too low for its cells',
      { errorRate: 1e-9 },
      'items at errorRate 1e-9, fewer than the capacity 10',
    ],
    ['too many hashes for its error rate', geometry({ hashes: 32 }), 'fewer than the capacity 10'],
    ['errorRate as text', { errorRate: '0.01' }, 'errorRate'],
    ['a short seed', { seed: '00' }, 'seed must match'],
    ['another generation', { generation: '0' }, 'generation must match'],
    ['createdAt -1', { createdAt: -1 }, 'createdAt'],
    ['exportedAt 0.5', { exportedAt: 0.5 }, 'exportedAt'],
    ['no geometry', { geometry: undefined }, 'geometry'],
    ['k 0', geometry({ hashes: 0 }), 'hashes must be a whole number from 1 to 32, not 0'],
    ['k 33', geometry({ hashes: 33 }), 'hashes'],
    ['k 2.5', geometry({ hashes: 2.5 }), 'hashes'],
    ['the cell width of a different type', geometry({ cellBits: 1 }), 'cellBits must be 4'],
    ['pages of 100', geometry({ pageCells: 100 }), 'pageCells'],
    ['pages of 8192', geometry({ pageCells: 8192 }), 'pageCells'],
    ['no pages', geometry({ pagesPerSegment: 0 }), 'pagesPerSegment'],
    ['2^31 pages', geometry({ pagesPerSegment: 2 ** 31 }), 'pagesPerSegment'],
    [
      'a segment of 64 MiB',
      geometry({ pagesPerSegment: 2 ** 20 }),
      'a segment of 67108864 bytes is too large',
    ],
    ['no segments', geometry({ segments: 0 }), 'segments'],
    ['2^31 segments', geometry({ segments: 2 ** 31 }), 'segments must be a whole number from 1 to 65536'],
    ['65536 small segments', geometry({ segments: 65_536 }), 'are too many; the limit is 1024'],
    ['no layers', { layers: [] }, "the header's layers must be a list of 1 to 6"],
    ['seven layers', { layers: Array(7).fill(LAYER) }, "the header's layers must be a list of 1 to 6"],
    ['layers of a different capacity', { layers: [{ ...LAYER, capacity: 11 }] }, 'the first layer must have'],
    [
      'a layer of fewer hashes',
      { layers: [LAYER, layer({ hashes: 5 })] },
      'layers differ: each must match the first in hash scheme',
    ],
    ['a layer of another page size', { layers: [LAYER, layer({ pageCells: 256 })] }, 'layers differ'],
    ['a layer of three segments', { layers: [LAYER, layer({ segments: 3 })] }, 'layers differ'],
    ['a layer without a rate', { layers: [{ ...LAYER, errorRate: 0 }] }, 'errorRate'],
    ['a layer too small', { layers: [LAYER, { ...LAYER, capacity: 1_000 }] }, 'fewer than the capacity 1000'],
    [
      'layers that exceed the error rate',
      { layers: [LAYER, LAYER, LAYER] },
      'add up to 0.015, more than errorRate 0.01',
    ],
    ['a layer that is not an object', { layers: [7] }, 'each layer in the header must be an object'],
    ['an unknown hash scheme', geometry({ hashScheme: 99 }), 'hash scheme 99 is unknown to this version'],
    [
      'a spread under a different scheme',
      geometry({ spread: 1 }),
      'hash scheme 2 must have no spread, not 1',
    ],
    [
      'no spread',
      geometry({ hashScheme: 3 }),
      'spread must divide the number of segments (2), but is undefined',
    ],
    ['spread 0', geometry({ hashScheme: 3, spread: 0 }), 'spread must be a whole number from 1 to'],
    ['spread 65', geometry({ hashScheme: 3, segments: 65, spread: 65 }), 'from 1 to 64, not 65'],
    ['spread 1.5', geometry({ hashScheme: 3, spread: 1.5 }), 'spread must be a whole number from 1 to'],
    [
      'a spread of more than the segments',
      geometry({ hashScheme: 3, spread: 4 }),
      'must divide the number of segments (2)',
    ],
    [
      'a spread without layers',
      geometry({ hashScheme: 3, spread: 2 }),
      'a filter with a spread must have layers',
    ],
    ['perHost without layers', { perHost: {} }, 'needs layers to have perHost'],
    ['perHost under a different scheme', { perHost: {}, layers: [LAYER] }, 'needs hash scheme 3'],
    ['perHost that is not an object', { perHost: [1] }, "the header's perHost must be an object"],
    ['an unknown limit', { perHost: { maxUrl: 1 } }, 'has a limit that this version does not know'],
    [
      'a limit named like a method',
      { perHost: { toString: 1 } },
      'has a limit that this version does not know',
    ],
    ['delayMs 0', { perHost: { delayMs: 0 } }, 'delayMs must be a whole number from 1 to 86400000, not 0'],
    ['delayMs beyond a day', { perHost: { delayMs: 86_400_001 } }, 'not 86400001'],
    ['maxLeased 1.5', { perHost: { maxLeased: 1.5 } }, 'maxLeased must be a whole number from 1 to'],
    ['maxUrls as text', { perHost: { maxUrls: '3' } }, 'maxUrls must be a whole number from 1 to'],
    [
      'a filter with perHost',
      { kind: 'filter', urlProfile: undefined, maxAttempts: undefined, perHost: {} },
      'no queue, so it cannot have perHost',
    ],
    [
      'a layer of another spread',
      {
        ...geometry({ hashScheme: 3, spread: 2 }),
        layers: [layer({ hashScheme: 3, spread: 2 }), layer({ hashScheme: 3, spread: 1 })],
      },
      'layers differ',
    ],
  ])('with %s is refused', async (_, changes, message) => {
    expect(await refusal(forged([['H', json({ ...headerJson, ...changes })]]))).toMatch(message);
  });

  it.each(['null', '[]', '7', '{', ''])('of %j is refused', async (text) => {
    expect(await refusal(forged([['H', Buffer.from(text)]]))).toMatch(/JSON/);
  });
});

describe('forged frames', () => {
  const header = ['H', json(headerJson)] as const;
  const cells = (segment: number, bytes = segmentBytes(GEOMETRY)) =>
    ['C', ofLayer(0, segment, Buffer.alloc(bytes))] as const;
  const entry = (
    first: number,
    payload: Buffer,
    length = payload.length,
    attempt = 0,
    reason?: Buffer,
    scheduledAt = 0,
  ) => {
    const packed = Buffer.alloc(ENTRY_HEAD_BYTES);
    packed[0] = first;
    packed.writeUInt32BE(attempt, 20);
    packed.writeUInt16BE(reason?.length ?? 0, 24);
    packed.writeUInt32BE(length, 26);
    packed.writeUIntBE(scheduledAt, 30, 6);
    return Buffer.concat([packed, reason ?? Buffer.of(), payload]);
  };
  const queue = (segment: number, ...entries: Buffer[]) =>
    ['Q', inSegment(segment, Buffer.concat(entries))] as const;
  const end = { ...COUNTS, items: 0, layerItems: [0], nonZero: 0, saturated: 0, queued: 0 };

  it('are accepted if they are valid', async () => {
    const found = await decode([forged([header, cells(0), cells(1)], end)]);
    expect(found.parts.at(-1)).toEqual({ type: 'counts', counts: { ...COUNTS, items: 0 }, layerItems: [0] });
  });

  it.each([
    ['no header', [cells(0)], 'must be the header, not "C"'],
    ['two headers', [header, header], 'an unexpected frame of type "H"'],
    ['an unknown type', [header, ['Z', Buffer.of(1)] as const], 'an unexpected frame of type "Z"'],
    ['no cells at all', [header], 'the export lacks counters for segment 0 of 2'],
    ['a missing segment', [header, cells(0)], 'the export lacks counters for segment 1 of 2'],
    ['missing cells', [header, cells(0), cells(1, 63)], 'the export lacks counters for segment 1 of 2'],
    ['too many cells', [header, cells(0, 65)], 'more than 64 bytes'],
    ['segments out of order', [header, cells(1)], 'segment 1 is out of order'],
    ['a segment twice', [header, cells(0), cells(0)], 'segment 0 is out of order'],
    ['an unknown segment', [header, cells(0), cells(1), cells(2)], 'segment 2 is out of order'],
    ['an empty frame', [header, cells(0, 0)], 'the export has an empty frame'],
    ['a queue after the cells', [header, cells(0, 1), queue(0, entry(0, Buffer.of()))], 'after its counters'],
    [
      'an entry of another segment',
      [header, queue(0, entry(0x80, Buffer.of()))],
      'belongs to another segment',
    ],
    ['an entry cut short', [header, queue(0, Buffer.alloc(35))], 'longer than its frame'],
    ['a payload cut short', [header, queue(0, entry(0, Buffer.of(), 2 ** 32 - 1))], 'longer than its frame'],
    ['a payload that is not UTF-8', [header, queue(0, entry(0, Buffer.of(0xff)))], 'not valid UTF-8'],
    [
      'a reason that is not UTF-8',
      [header, queue(0, entry(0, Buffer.of(), 0, 0, Buffer.of(0xff)))],
      'not valid UTF-8',
    ],
    [
      'a reason that is too long',
      [header, queue(0, entry(0, Buffer.of(), 0, 0, Buffer.alloc(257, 'x')))],
      'a reason of 257 bytes; the limit is 256',
    ],
    [
      'an unknown priority',
      [header, queue(0, entry(0, Buffer.of(), 0, 3 * 2 ** 24))],
      'a queue entry has an unknown priority',
    ],
    [
      'a dead letter that is scheduled',
      [header, queue(0, entry(0, Buffer.of(), 0, 0, Buffer.from('x'), 1))],
      'a dead letter must not have a scheduled time',
    ],
  ])('with %s are refused', async (_, frames, message) => {
    expect(await refusal(forged(frames, end))).toContain(message);
  });

  it('of version 1 have entries without priority and time', async () => {
    const old = (attempt: number) => {
      const packed = Buffer.alloc(30);
      packed.writeUInt32BE(attempt, 20);
      return forged([header, queue(0, packed), cells(0), cells(1)], { ...end, queued: 1 }, 1);
    };
    const { parts: found } = await decode([old(MAX_ATTEMPT)]);
    expect(found[0]).toMatchObject({ entries: [{ attempt: MAX_ATTEMPT, payload: Buffer.of() }] });
    expect(found[0]).not.toHaveProperty('entries.0.priority');
    expect(await refusal(old(2 ** 32 - 1))).toContain('was leased 4294967295 times');
  });

  it('with a queue are refused in a filter', async () => {
    const { urlProfile: _, maxAttempts: __, ...filter } = { ...headerJson, kind: 'filter' };
    const frames = [['H', json(filter)] as const, queue(0, entry(0, Buffer.of()))];
    expect(await refusal(forged(frames, end))).toContain('only a visited set has a queue');
  });

  it.each([
    ['nonZero', { nonZero: 1 }],
    ['saturated', { saturated: 1 }],
    ['queued', { queued: 1 }],
    ['items', { items: 1 }],
    ['added', { added: 0.5 }],
    ['refused', { refused: undefined }],
  ])('with a wrong %s in the last frame are refused', async (name, lie) => {
    expect(await refusal(forged([header, cells(0), cells(1)], { ...end, ...lie }))).toMatch(
      new RegExp(`^${name} (must be|is missing; it must be)`),
    );
  });

  it('with lanes are refused in a set without perHost', async () => {
    const frames = [header, ['L', inSegment(0, Buffer.alloc(37))] as const];
    expect(await refusal(forged(frames, end))).toContain('only a visited set with perHost has hosts');
  });

  /** Pages of 128 cells: 14 counters of 1, or 14 bits, and 6 hashes. */
  const few = Buffer.alloc(64);
  few.fill(0x11, 0, 7);
  const fewBits = Buffer.alloc(16);
  fewBits.fill(0xff, 0, 1);
  const set = { ...headerJson, kind: 'filter', urlProfile: undefined, maxAttempts: undefined };
  const standard = { ...set, type: 'standard', geometry: { ...GEOMETRY, cellBits: 1 } };

  it.each([
    ['a set', set, few, { removed: 0, items: [3, 3] }],
    ['a set with removals of other items', set, few, { removed: 2, items: [3, 5] }],
    ['a multiset', { ...set, semantics: 'multiset' }, few, { removed: 2, items: [0, 5] }],
    ['a standard filter', standard, fewBits, { removed: 0, items: [2, 8] }],
    ['an empty filter', set, Buffer.alloc(64), { removed: 2, items: [0, 0] }],
  ] as const)('of %s are refused if items contradict the cells', async (_, header, bytes, expected) => {
    const { removed, items } = expected;
    const nonZero = header === standard ? 8 : bytes === few ? 14 : 0;
    const frames = [0, 1].map((segment) => {
      return ['C', ofLayer(0, segment, segment === 0 ? bytes : Buffer.alloc(bytes.length))] as const;
    });
    const of = (count: number) =>
      forged([['H', json(header)], ...frames], {
        ...end,
        nonZero,
        removed,
        items: count,
        layerItems: [count],
      });
    const [least, most] = items;
    for (const taken of new Set([least, most])) {
      expect((await decode([of(taken)])).parts.at(-1)).toMatchObject({ counts: { items: taken } });
    }
    const limit = least === most ? `layerItems must be ${least}` : `from ${least} to ${most}`;
    for (const refused of [least - 1, most + 1]) {
      expect(await refusal(of(refused))).toContain(`${limit}, not ${refused}`);
    }
  });
});

describe('the file of a set with perHost', () => {
  const geometry = { ...GEOMETRY, hashScheme: HOST_HASH_SCHEME, segments: 4, spread: 2 } as const;
  const layers = [{ capacity: HEADER.capacity, errorRate: HEADER.errorRate, geometry }];
  const perHost = { delayMs: 5, maxUrls: 7 };
  const ofHosts: ExportHeader = { ...HEADER, geometry, layers, perHost };
  const header = ['H', json({ ...headerJson, geometry, layers, perHost })] as const;
  const wordOf = (name: string): number => hostWords(name, HEADER.seed)[0] as number;
  const segmentFor = (name: string, second = 0): number => segmentOf(wordOf(name), second, geometry);
  const hashOf = (name: string, second: number): Buffer => {
    const hash = Buffer.alloc(16, 7);
    hash.writeUInt32BE(wordOf(name));
    hash.writeUInt32BE(second, 4);
    return hash;
  };
  const names = ['', 'a.example', 'b.example', 'c.example', '[::1]', 'bücher.example', 'x'.repeat(65_535)];
  const host = (name: string, n: number) => ({
    ...{ name, readyAt: 2 ** 48 - 1, found: 2 ** 31, foundUntil: 1_700_000_000_000 },
    ...(n % 2 === 0 && { blockedUntil: MAX_BLOCKED_UNTIL, own: { delayMs: 0, maxUrls: 2 ** 31 } }),
    ...(n % 3 === 1 && { own: { maxLeased: 2 ** 31 } }),
  });
  const entry = (name: string, second: number, reason?: string) => ({
    ...{ hash: hashOf(name, second), discoveredAt: 3, attempt: 2, payload: Buffer.from(`http://${name}/`) },
    ...(reason !== undefined && { reason }),
    host: name,
  });
  const cells = (segment: number): Part => ({
    ...{ type: 'cells', layer: 0, segment, cells: Buffer.alloc(segmentBytes(geometry)) },
    ...{ nonZero: 0, saturated: 0 },
  });
  const counts: Part = { type: 'counts', counts: { ...COUNTS, items: 0 }, layerItems: [0] };

  it('is decoded as it was encoded', async () => {
    const given = [0, 1, 2, 3].flatMap((segment): Part[] => {
      const here = names.filter((name) => segmentFor(name, 2 ** 31) === segment);
      const entries = here.map((name, n) => entry(name, 2 ** 31 + n, n === 0 ? 'why' : undefined));
      const hosts = names.filter((name) => segmentFor(name) === segment).map(host);
      return [
        ...(entries.length > 0 ? [{ type: 'queue', segment, entries } as const] : []),
        ...(hosts.length > 0 ? [{ type: 'queue', segment, entries: [], hosts } as const] : []),
        cells(segment),
      ];
    });
    const file = await encode(ofHosts, [...given, counts]);
    for (const size of [7, 1_000_000]) {
      const chunks = [];
      for (let at = 0; at < file.length; at += size) chunks.push(file.subarray(at, at + size));
      const found = await decode(chunks);
      expect(found.header).toMatchObject({ geometry, perHost });
      expect(plain(found.parts)).toEqual(plain([...given, counts]));
    }
  });

  const lane = (
    name: Buffer,
    { found = 0, length = name.length, blocked = 0, own = [0, 0, 0] } = {},
  ): Buffer => {
    const head = Buffer.alloc(36);
    head.writeUInt32BE(found, 6);
    head.writeUIntBE(blocked, 16, 6);
    for (const [n, one] of own.entries()) head.writeUInt32BE(one, 22 + 4 * n);
    head.writeUInt16BE(length, 34);
    return Buffer.concat([head, name]);
  };
  const lanes = (segment: number, ...all: Buffer[]) => ['L', inSegment(segment, Buffer.concat(all))] as const;
  const queued = (segment: number, hash: Buffer, name: Buffer, length = name.length) => {
    const head = Buffer.alloc(ENTRY_HEAD_BYTES + 2);
    head.set(hash);
    head.writeUInt16BE(length, ENTRY_HEAD_BYTES);
    return ['Q', inSegment(segment, Buffer.concat([head, name]))] as const;
  };
  const a = Buffer.from('a.example');
  const [own, other] = [segmentFor('a.example'), 2 - segmentFor('a.example')];
  const emptyCells = (segment: number) =>
    ['C', ofLayer(0, segment, Buffer.alloc(segmentBytes(geometry)))] as const;
  const from = (segment: number, ...frames: (readonly [string, Buffer])[]) => [
    header,
    ...[0, 1, 2, 3].slice(0, segment).map(emptyCells),
    ...frames,
  ];

  it.each([
    ['a lane of another run', from(other, lanes(other, lane(a))), 'belongs to another segment'],
    [
      'a lane of another segment of its run',
      from(own + 1, lanes(own + 1, lane(a))),
      'belongs to another segment',
    ],
    ['a lane after the cells', from(own + 1, lanes(own, lane(a))), 'after its counters'],
    ['a name that is not UTF-8', from(own, lanes(own, lane(Buffer.of(0xff)))), 'not valid UTF-8'],
    ['a name cut short', from(own, lanes(own, lane(a, { length: 10 }))), 'a host is longer than its frame'],
    ['a lane cut short', from(own, lanes(own, Buffer.alloc(35))), 'a host is longer than its frame'],
    [
      'too many discoveries',
      from(own, lanes(own, lane(a, { found: 2 ** 31 + 1 }))),
      'a host has 2147483649 discoveries; the limit is 2147483648',
    ],
    [
      'a block without end',
      from(own, lanes(own, lane(a, { blocked: 2 ** 48 - 1 }))),
      'a host has impossible settings: blockedUntil must be',
    ],
    [
      'a delay beyond a day',
      from(own, lanes(own, lane(a, { own: [86_400_002, 0, 0] }))),
      'delayMs must be a whole number from 0 to 86400000, not 86400001',
    ],
    [
      'maxLeased 0',
      from(own, lanes(own, lane(a, { own: [0, 1, 0] }))),
      'maxLeased must be a whole number from 1',
    ],
    [
      'maxUrls 0',
      from(own, lanes(own, lane(a, { own: [0, 0, 1] }))),
      'maxUrls must be a whole number from 1',
    ],
    [
      'an entry of another host',
      from(own, queued(own, hashOf('a.example', 0), Buffer.from('b.example'))),
      'a hash that does not match its host',
    ],
    [
      'an entry without a host',
      from(own, queued(own, hashOf('a.example', 0), Buffer.of())),
      'a hash that does not match its host',
    ],
    ['an entry cut short', from(own, queued(own, hashOf('a.example', 0), a, 10)), 'longer than its frame'],
    ['an end without the lanes', from(4), 'hosts is missing; it must be 0'],
    [
      'a different number of lanes',
      from(own, lanes(own, lane(a)), ...[0, 1, 2, 3].slice(own).map(emptyCells)),
      'hosts is missing; it must be 1',
    ],
  ])('is refused with %s', async (_, frames, message) => {
    const end = { ...COUNTS, items: 0, layerItems: [0], nonZero: 0, saturated: 0, queued: 0 };
    expect(await refusal(forged(frames, end))).toContain(message);
  });
});

function plain(given: readonly Part[]): unknown {
  return given.map((part) => {
    if (part.type === 'cells') return { ...part, cells: [...part.cells], sum: 0 };
    if (part.type === 'counts' || part.type === 'hidden') return part;
    const entries = part.entries.map(({ hash, payload, ...rest }) => ({
      ...rest,
      hash: [...hash],
      payload: [...payload],
    }));
    return { ...part, entries };
  });
}
