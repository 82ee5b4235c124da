import fc, { type Arbitrary } from 'fast-check';
import type { Operation } from './api.js';
import { item, oddJson, url } from './hostile.js';
import { NAMES } from './names.js';
import { often } from './often.js';
import { resolve, type Schema, type Schemas } from './schema.js';

/** A body and its declared type. */
export interface FuzzBody {
  readonly type: string;
  readonly bytes: Buffer;
}

const ODD_TYPES = [
  'application/json; charset=utf-16',
  'text/plain;charset=latin1',
  'text/csv',
  '',
  'application/json;',
  'a/b/c',
];

/** Bodies in the types that the operation accepts: valid, almost valid, garbage, or none. */
export function bodies({ requestBody }: Operation, schemas: Schemas): Arbitrary<FuzzBody | undefined> {
  const anything = fc.oneof(
    oddJson.map((text) => Buffer.from(text)),
    fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
  );
  if (!requestBody) {
    const unwanted = anything.map((bytes) => ({ type: 'application/json', bytes }));
    return often<FuzzBody | undefined>(fc.constant(undefined), unwanted);
  }
  const wanted = Object.entries(requestBody.content).map(([type, { schema = {} }]) => {
    const text = type === 'application/json' ? json(schema, schemas) : lines(type);
    return often(
      text.map((one) => Buffer.from(one)),
      anything,
      9,
    ).map((bytes) => ({ type, bytes }));
  });
  const odd = fc.record({
    type: fc.constantFrom(...Object.keys(requestBody.content), ...ODD_TYPES),
    bytes: anything,
  });
  return often<FuzzBody | undefined>(fc.oneof(...wanted), fc.oneof(odd, fc.constant(undefined)), 8);
}

function lines(type: string): Arbitrary<string> {
  const line = fc.oneof(item, url).map((text) => (type === 'text/plain' ? text : JSON.stringify(text)));
  const rows = fc.array(often(line, oddJson, 12), { maxLength: 20 });
  return fc
    .tuple(rows, fc.constantFrom('\n', '\r\n'))
    .map(([texts, end]) => texts.map((one) => one + end).join(''));
}

/**
 * JSON text for a value that the schema accepts, or almost accepts. Members may be missing, doubled, added, or have odd
 * values.
 */
function json(written: Schema, schemas: Schemas): Arbitrary<string> {
  const schema = resolve(written, schemas);
  if (schema.oneOf) return fc.oneof(...schema.oneOf.map((one) => json(one, schemas)));
  if (schema.enum) return fc.constantFrom(...schema.enum.map((value) => JSON.stringify(value)));
  if (schema.type === 'array') {
    const member = fc.oneof(item, url).map((text) => JSON.stringify(text));
    return fc.array(often(member, oddJson, 30), { maxLength: 20 }).map((members) => `[${members.join(',')}]`);
  }
  if (schema.type === 'boolean') return fc.constantFrom('true', 'false');
  if (schema.type === 'integer' || schema.type === 'number') return numbers(schema);
  if (schema.type === 'string')
    return fc.oneof(fc.constantFrom<string>(...NAMES), item).map((text) => JSON.stringify(text));
  if (schema.type !== 'object' || !schema.properties) return oddJson;
  const { properties, required = [] } = schema;
  const entries = Object.entries(properties).map(([name, member]) => {
    const entry = often(json(member, schemas), oddJson, 20).map((value) => [
      `${JSON.stringify(name)}:${value}`,
    ]);
    const none = fc.constant<string[]>([]);
    return required.includes(name) ? often(entry, none, 25) : fc.oneof(entry, none);
  });
  const extra = fc.constantFrom<string[]>(
    ...['__proto__', 'constructor', 'extra', '', 'name'].map((name) => [`"${name}":{"a":1}`]),
  );
  return fc
    .tuple(...entries, often(fc.constant<string[]>([]), extra, 20))
    .map((parts) => `{${parts.flat().join(',')}}`);
}

function numbers({ type, minimum = -1e9, maximum = 1e9 }: Schema): Arbitrary<string> {
  const most = Math.min(maximum, 100_000);
  const usual =
    type === 'integer'
      ? fc.integer({ min: Math.ceil(minimum), max: most })
      : fc.double({ min: minimum, max: most, noNaN: true });
  return often(usual, fc.constantFrom(minimum, maximum, maximum + 1, minimum - 1, maximum * 2)).map(String);
}
