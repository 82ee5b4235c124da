import { describe, expect, it } from '@jest/globals';
import { fastify } from 'fastify';
import { Routes } from './routes.js';

const TAKES_LINES = { batch: { verb: 'add', entries: 'items' } } as const;

function classOf(headers: Record<string, string>, config = {}): object {
  const server = fastify();
  const routes = new Routes(1_000);
  routes.watch(server);
  server.post('/:name', { config }, () => null);
  return routes.classOf({ method: 'POST', url: '/n%61me?results=none', headers });
}

describe('a request’s class', () => {
  it.each([
    ['no body', {}, 'requests', 0],
    ['an empty body', { 'content-length': '0' }, 'requests', 0],
    ['JSON', { 'content-type': 'application/json', 'content-length': '500' }, 'requests', 500],
    [
      'JSON in UTF-8',
      { 'content-type': 'Application/JSON; charset=utf-8', 'content-length': '5' },
      'requests',
      5,
    ],
    [
      'JSON that is too large',
      { 'content-type': 'application/json', 'content-length': '1001' },
      'requests',
      0,
    ],
    [
      'JSON without a length',
      { 'content-type': 'application/json', 'transfer-encoding': 'chunked' },
      'requests',
      0,
    ],
    ['NDJSON', { 'content-type': 'application/x-ndjson', 'content-length': '1000000' }, 'streams', 0],
    ['text', { 'content-type': 'text/plain', 'transfer-encoding': 'chunked' }, 'streams', 0],
    [
      'a media type that begins like JSON',
      { 'content-type': 'application/jsonx', 'content-length': '9' },
      'streams',
      0,
    ],
    ['a body without a type', { 'content-length': '9' }, 'streams', 0],
  ])('%s, on a route that accepts lines', (_, headers, kind, bytes) => {
    expect(classOf(headers, TAKES_LINES)).toMatchObject({ kind, bytes });
  });

  it('is not a stream on a route that accepts no streamed body', () => {
    const headers = { 'content-type': 'text/plain', 'transfer-encoding': 'chunked' };
    expect(classOf(headers)).toMatchObject({ kind: 'requests', bytes: 0 });
    expect(classOf(headers, { takesExports: true })).toMatchObject({ kind: 'streams', bytes: 0 });
  });

  it('depends only on the route for exports and probes', () => {
    const headers = { 'content-type': 'application/json', 'content-length': '500' };
    expect(classOf(headers, { exports: true })).toMatchObject({ kind: 'streams', bytes: 0 });
    expect(classOf(headers, { probe: true })).toMatchObject({ kind: 'probes', bytes: 0 });
  });

  it('is `requests` for an unknown route', () => {
    const headers = { 'content-type': 'text/plain', 'content-length': '500' };
    const routes = new Routes(1_000);
    expect(routes.classOf({ method: 'POST', url: '/nowhere', headers })).toMatchObject({
      kind: 'requests',
      bytes: 0,
    });
  });
});
