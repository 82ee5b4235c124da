import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { demandOf } from './demand.js';

const demand = (url: string, headers: Record<string, string> = {}) =>
  demandOf({ url, headers } as IncomingMessage, 1_000);

describe('demandOf', () => {
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
      'JSON of no length',
      { 'content-type': 'application/json', 'transfer-encoding': 'chunked' },
      'requests',
      0,
    ],
    ['NDJSON', { 'content-type': 'application/x-ndjson', 'content-length': '1000000' }, 'streams', 0],
    ['text', { 'content-type': 'text/plain', 'transfer-encoding': 'chunked' }, 'streams', 0],
    [
      'a type that begins as JSON',
      { 'content-type': 'application/jsonx', 'content-length': '9' },
      'streams',
      0,
    ],
    ['a body of no type', { 'content-length': '9' }, 'streams', 0],
  ])('%s', (_, headers, kind, bytes) => {
    expect(demand('/v1/filters/f/items/add?results=none', headers)).toEqual({ kind, bytes });
  });

  it('takes an export for a stream', () => {
    expect(demand('/v1/filters/f/export')).toEqual({ kind: 'streams', bytes: 0 });
    expect(demand('/v1/filters/exports?x=/export').kind).toBe('requests');
  });

  it('knows the probes by their path alone', () => {
    for (const path of ['/healthz', '/readyz', '/metrics', '/metrics?name=x']) {
      expect(demand(path)).toEqual({ kind: 'probes', bytes: 0 });
    }
    for (const path of ['/healthz/', '/metricsx', '/v1/filters?/metrics']) {
      expect(demand(path).kind).toBe('requests');
    }
  });
});
