import { describe, expect, it } from '@jest/globals';
import { SYSTEM_CLOCK } from '#store';
import { contextOf } from '../request/context.js';
import type { Request } from '../request/request.js';
import { blockOperation, idOfRefused, operationOf } from './operations.js';

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
    query: {},
    routeOptions: { url: '/v1/filters/:name/items/add' },
    raw: {},
    server: { requestTimeoutMs: 1_000, clock: SYSTEM_CLOCK },
  } as unknown as Request;
  contextOf(request.raw).rawBody = body;
  return request;
}

const json = (key?: string, body?: Buffer) => requestOf('application/json', key, body);
const stream = (key?: string) => requestOf('text/plain', key);

describe('an operation id that was made', () => {
  it('before the body was read is a key of its own: kept as long, and told from a reuse in every segment', () => {
    const id = idOfRefused(json()) ?? '';
    const operation = operationOf(json(id, JSON_BODY));
    expect(operation).toMatchObject({ id, origin: 'caller', repeat: true });
    expect(operationOf(json(id, JSON_BODY)).fingerprint).toBe(operation.fingerprint);
    const other = operationOf(json(id, Buffer.from('{"items":["b"]}')));
    expect(other.fingerprint).not.toBe(operation.fingerprint);
  });

  it('with the body is that of its repeats only', () => {
    const { id } = operationOf(json(undefined, JSON_BODY));
    expect(operationOf(json(id, JSON_BODY))).toMatchObject({
      id,
      origin: 'made',
      repeat: true,
    });
    expect(() => operationOf(json(id, Buffer.from('{"items":["b"]}')))).toThrow('another request');
  });

  it('for a stream is no JSON body’s, and the other way round', () => {
    for (const { id } of [operationOf(stream()), { id: idOfRefused(stream()) }]) {
      const again = stream(id);
      expect(blockOperation(again, operationOf(again), 1, ['a'])).toMatchObject({ id, origin: 'made' });
      expect(() => operationOf(json(id, JSON_BODY))).toThrow('another request');
    }
    const { id } = operationOf(json(undefined, JSON_BODY));
    expect(() => operationOf(stream(id))).toThrow('another request');
  });
});
