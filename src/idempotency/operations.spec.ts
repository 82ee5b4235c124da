import { describe, expect, it } from '@jest/globals';
import { contextOf } from '../request/context.js';
import type { Request } from '../request/request.js';
import { operationIdOf, RequestOperation } from './operations.js';

const JSON_BODY = Buffer.from('{"items":["a"]}');

/** A request to a mutating route; without `body` it is refused before that is read, or is a stream. */
function requestOf(type: string, key?: string, body?: Buffer): Request {
  const headers = {
    'content-type': type,
    'content-length': String(JSON_BODY.length),
    ...(key !== undefined && { 'idempotency-key': key }),
  };
  const request = {
    method: 'POST',
    headers,
    params: { name: 'f' },
    routeOptions: { url: '/v1/filters/:name/items/add' },
    raw: {},
    server: { requestTimeoutMs: 1_000 },
  } as unknown as Request;
  contextOf(request.raw).rawBody = body;
  return request;
}

const json = (key?: string, body?: Buffer) => requestOf('application/json', key, body);
const stream = (key?: string) => requestOf('text/plain', key);

describe('an operation id that was made', () => {
  it('before the body was read is a key of its own: kept as long, and told from a reuse in every segment', () => {
    const id = operationIdOf(json()) ?? '';
    const operation = RequestOperation.of(json(id, JSON_BODY)).whole();
    expect(operation).toMatchObject({ id, origin: 'caller', repeat: true });
    expect(RequestOperation.of(json(id, JSON_BODY)).whole().fingerprint).toBe(operation.fingerprint);
    const other = RequestOperation.of(json(id, Buffer.from('{"items":["b"]}'))).whole();
    expect(other.fingerprint).not.toBe(operation.fingerprint);
  });

  it('with the body is that of its repeats only', () => {
    const { id } = RequestOperation.of(json(undefined, JSON_BODY));
    expect(RequestOperation.of(json(id, JSON_BODY)).whole()).toMatchObject({
      id,
      origin: 'made',
      repeat: true,
    });
    expect(() => RequestOperation.of(json(id, Buffer.from('{"items":["b"]}')))).toThrow('another request');
  });

  it('for a stream is no JSON body’s, and the other way round', () => {
    for (const { id } of [RequestOperation.of(stream()), { id: operationIdOf(stream()) }]) {
      expect(RequestOperation.of(stream(id)).block(1, ['a'])).toMatchObject({ id, origin: 'made' });
      expect(() => RequestOperation.of(json(id, JSON_BODY))).toThrow('another request');
    }
    const { id } = RequestOperation.of(json(undefined, JSON_BODY));
    expect(() => RequestOperation.of(stream(id))).toThrow('another request');
  });
});
