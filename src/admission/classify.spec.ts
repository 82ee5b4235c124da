import { describe, expect, it } from '@jest/globals';
import { classify } from './classify.js';

const TAKES_LINES = { batch: { verb: 'add', entries: 'items' } } as const;

const classOf = (headers: Record<string, string>, route = {}) => classify({ headers }, route, 1_000);

describe('classify', () => {
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
  ])('%s, where lines are taken', (_, headers, kind, bytes) => {
    expect(classOf(headers, TAKES_LINES)).toEqual({ kind, bytes });
  });

  it('takes no body for a stream on a route that takes none', () => {
    const headers = { 'content-type': 'text/plain', 'transfer-encoding': 'chunked' };
    expect(classOf(headers)).toEqual({ kind: 'requests', bytes: 0 });
    expect(classOf(headers, { takesExports: true })).toEqual({ kind: 'streams', bytes: 0 });
  });

  it('takes exports and probes for what their routes say, whatever they send', () => {
    const headers = { 'content-type': 'application/json', 'content-length': '500' };
    expect(classOf(headers, { exports: true })).toEqual({ kind: 'streams', bytes: 0 });
    expect(classOf(headers, { probe: true })).toEqual({ kind: 'probes', bytes: 0 });
  });
});
