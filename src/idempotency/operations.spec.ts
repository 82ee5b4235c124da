import { describe, expect, it } from '@jest/globals';
import { SYSTEM_CLOCK } from '#store';
import { contextOf } from '../request/context.js';
import type { Request } from '../request/request.js';
import { blockOperation, idOfRefused, operationOf } from './operations.js';

const JSON_BODY = Buffer.from('{"items":["a"]}');

/** A request to a mutating route. Without `body`, it was refused before its body was read, or is a stream. */
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
    routeOptions: { url: '/v1/filters/:name/items/add', config: {} },
    raw: {},
    server: { requestTimeoutMs: 1_000, clock: SYSTEM_CLOCK },
  } as unknown as Request;
  contextOf(request.raw).rawBody = body;
  return request;
}

const json = (key?: string, body?: Buffer) => requestOf('application/json', key, body);
const stream = (key?: string) => requestOf('text/plain', key);

describe('a generated operation id', () => {
  it('made before the body was read acts as a caller’s key, and tells a repeat from a reuse', () => {
    const id = idOfRefused(json()) ?? '';
    const operation = operationOf(json(id, JSON_BODY));
    expect(operation).toMatchObject({ id, origin: 'caller', repeat: true });
    expect(operationOf(json(id, JSON_BODY)).fingerprint).toBe(operation.fingerprint);
    const other = operationOf(json(id, Buffer.from('{"items":["b"]}')));
    expect(other.fingerprint).not.toBe(operation.fingerprint);
  });

  it('made after the body was read is valid only for repeats', () => {
    const { id } = operationOf(json(undefined, JSON_BODY));
    expect(operationOf(json(id, JSON_BODY))).toMatchObject({
      id,
      origin: 'made',
      repeat: true,
    });
    expect(() => operationOf(json(id, Buffer.from('{"items":["b"]}')))).toThrow('another request');
  });

  it('for a lease is valid for a different wait, and a large body is compared as it is', () => {
    const lease = (body: object | string, key?: string): Request => {
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      const request = json(key, Buffer.from(text));
      return Object.assign(request, {
        body: JSON.parse(text) as unknown,
        routeOptions: { url: '/', config: { waits: true } },
      });
    };
    const { id, fingerprint } = operationOf(lease({ max: 1, leaseSeconds: 60, waitSeconds: 20 }));
    expect(operationOf(lease({ max: 1, leaseSeconds: 60 }, id)).fingerprint).toBe(fingerprint);
    expect(() => operationOf(lease({ max: 2, leaseSeconds: 60 }, id))).toThrow('another request');
    // Too deep to serialise: that would overflow the stack.
    const deep = `{"max":1,"x":${'['.repeat(8_000)}${']'.repeat(8_000)}}`;
    expect(operationOf(lease(deep)).fingerprint).toBe(operationOf(lease(deep)).fingerprint);
    expect(idOfRefused(lease(deep))).toEqual(expect.any(String));
  });

  it('for a stream is not valid for a JSON body, and vice versa', () => {
    for (const { id } of [operationOf(stream()), { id: idOfRefused(stream()) }]) {
      const again = stream(id);
      expect(blockOperation(again, operationOf(again), 1, ['a'])).toMatchObject({ id, origin: 'made' });
      expect(() => operationOf(json(id, JSON_BODY))).toThrow('another request');
    }
    const { id } = operationOf(json(undefined, JSON_BODY));
    expect(() => operationOf(stream(id))).toThrow('another request');
  });
});
