import fc, { type Arbitrary } from 'fast-check';
import type { Operation } from './api.js';
import { bodies } from './body.js';
import { oddSegment } from './hostile.js';
import { NAMES } from './names.js';
import { often } from './often.js';
import type { Schemas } from './schema.js';

/** One request to an operation, with all parts visible in a failure report. */
export interface FuzzRequest {
  readonly operation: Operation;
  readonly target: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Buffer | undefined;
  readonly chunked: boolean;
}

/** Requests to all of the document's operations in equal numbers: valid, almost valid, and garbage. */
export function requests(operations: readonly Operation[], schemas: Schemas): Arbitrary<FuzzRequest> {
  return fc
    .constantFrom(...operations)
    .chain((operation) =>
      fc.record({
        operation: fc.constant(operation),
        target: targets(operation),
        headers: headersOf(operation),
        body: bodies(operation, schemas),
        chunked: fc.boolean(),
      }),
    )
    .map(({ headers, body, ...rest }) => {
      const type: [string, string][] = body === undefined ? [] : [['Content-Type', body.type]];
      return { ...rest, headers: [...type, ...headers], body: body && withoutWaiting(body.bytes) };
    });
}

/** Sets a lease's wait to zero. A waiting lease doesn't hang, but it takes up to 30 s. */
function withoutWaiting(body: Buffer): Buffer {
  const text = body.toString('latin1');
  if (!text.includes('waitSeconds')) return body;
  const shown = text.replace(
    /("waitSeconds"\s*:\s*)(?:[1-9]|[12]\d|30)(?![\d.e])/gi,
    (_, name: string) => `${name}0`,
  );
  return Buffer.from(shown, 'latin1');
}

/** The bytes on the wire. They end with the body, so that requests can follow each other on a connection. */
export function encode({ operation, target, headers, body, chunked }: FuzzRequest): Buffer {
  const framing: [string, string][] = [];
  if (body)
    framing.push(chunked ? ['Transfer-Encoding', 'chunked'] : ['Content-Length', String(body.length)]);
  const lines = [['Host', 'localhost'], ...framing, ...headers].map(([name, value]) => `${name}: ${value}`);
  const head = Buffer.from(
    `${operation.method} ${target} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`,
    'latin1',
  );
  if (!body) return head;
  if (!chunked) return Buffer.concat([head, body]);
  const size = body.length === 0 ? '' : `${body.length.toString(16)}\r\n`;
  return Buffer.concat([
    head,
    Buffer.from(size),
    body,
    Buffer.from(size === '' ? '0\r\n\r\n' : '\r\n0\r\n\r\n'),
  ]);
}

/** Names for the kind of filter in the path. */
function namesOf(path: string): Arbitrary<string> {
  const visited = path.includes('visited-sets');
  return fc.constantFrom<string>(...NAMES.filter((name) => name.includes('visited') === visited));
}

function targets({ path, parameters = [] }: Operation): Arbitrary<string> {
  const segments = path
    .split('/')
    .map((part) =>
      part.startsWith('{')
        ? often(often(namesOf(path), fc.constantFrom<string>(...NAMES)), oddSegment)
        : fc.constant(part),
    );
  const value = fc.oneof(
    fc.constantFrom(
      '1',
      '10',
      'none',
      'a',
      '0',
      '-1',
      '1e3',
      '1001',
      '',
      '%00',
      '%zz',
      'x'.repeat(3_000),
      '[object Object]',
    ),
    oddSegment,
  );
  const known = parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name);
  const odd = [
    'limit',
    'cursor',
    'results',
    'limit[]',
    'limit[a][b]',
    '__proto__',
    '__proto__[x]',
    '',
    '%5B%5D',
  ];
  const pair = fc
    .tuple(often(fc.constantFrom(...(known.length > 0 ? known : odd)), fc.constantFrom(...odd), 3), value)
    .map(([name, text]) => `${name}=${text}`);
  const query = often(
    fc.constant(''),
    fc.array(pair, { maxLength: 4 }).map((pairs) => `?${pairs.join('&')}`),
    known.length > 0 ? 2 : 8,
  );
  // A request line has no spaces or control characters. The raw-socket tests try those.
  return fc
    .tuple(fc.tuple(...segments), query)
    .map(([parts, text]) =>
      (parts.join('/') + text).replace(/[\s\u007f]/g, '+').replace(/[\u0000-\u0020]/g, '+'),
    );
}

/** The client accepts header values of Latin-1 without control characters. */
const headerText = fc
  .string({ unit: 'binary-ascii', maxLength: 300 })
  .map((text) => text.replace(/[\u0000-\u001f\u007f]/g, '~').trim());

function headersOf({ method }: Operation): Arbitrary<[string, string][]> {
  // The few operation keys repeat, sometimes for the same request, but mostly for another one.
  const key = often(
    fc.oneof(fc.integer({ min: 0, max: 1e9 }), fc.integer({ min: 0, max: 3 })).map((n) => `key-${n}`),
    fc.oneof(
      headerText,
      fc.constantFrom('key-1', '', 'x'.repeat(256), 'ü', '00000000-0000-7000-8000-000000000000'),
    ),
    2,
  ).map((text): [string, string] => ['Idempotency-Key', text]);
  const other = fc.oneof(
    headerText.map((text): [string, string] => ['X-Odd', text]),
    headerText.map((text): [string, string] => ['Authorization', `Bearer ${text}`]),
    fc.constantFrom<[string, string]>(
      ['Content-Encoding', 'gzip'],
      ['Content-Encoding', 'identity'],
      ['Accept', 'application/xml;q=0'],
      ['Range', 'bytes=0-0'],
      ['If-Match', '*'],
      ['Cookie', '__proto__=1'],
      ['X-HTTP-Method-Override', 'DELETE'],
      ['X-Forwarded-Host', 'evil.example'],
      ['Expect', '100-continue'],
    ),
  );
  return fc.array(method === 'GET' ? other : fc.oneof(key, other), { maxLength: 2 });
}
