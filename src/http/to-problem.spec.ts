import { describe, expect, it } from '@jest/globals';
import { StaleFilterError, StoreError } from '#store';
import { ProblemError } from '../errors/problem.js';
import { toProblem } from './to-problem.js';

describe('toProblem', () => {
  it('keeps the store’s codes, and its messages unless they may name hosts', () => {
    expect(toProblem(new StoreError('FILTER_BUSY', 'being dropped'))).toMatchObject({
      code: 'FILTER_BUSY',
      message: 'being dropped',
    });
    const away = toProblem(new StoreError('STORE_UNAVAILABLE', 'connect ECONNREFUSED 10.0.0.1:6379'));
    expect(away).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: 'the store is unavailable; retry with the same Idempotency-Key',
    });
  });

  it('passes on messages that a store calls public', () => {
    const full = new StoreError('STORE_FULL', 'filter f records 12 forgotten items', { isPublic: true });
    expect(toProblem(full)).toMatchObject({ code: 'STORE_FULL', message: full.message });
    expect(toProblem(new StoreError('STORE_FULL', 'the disk of /data is full'))).toMatchObject({
      code: 'STORE_FULL',
      message: 'the store is full; give it more space, or delete filters or visited sets',
    });
  });

  it('reports a filter that keeps changing as busy', () => {
    expect(toProblem(new StaleFilterError('f'))).toMatchObject({ code: 'FILTER_BUSY' });
  });

  it('reveals nothing about unknown errors', () => {
    for (const thrown of [new Error('secret'), 'secret', { secret: true }, undefined, null]) {
      const body = toProblem(thrown).body({ requestId: 'r-1' });
      expect(body).toMatchObject({ code: 'INTERNAL_ERROR', status: 500, requestId: 'r-1' });
      expect(JSON.stringify(body)).not.toContain('secret');
    }
  });

  it('leaves problems unchanged', () => {
    const problem = new ProblemError('FORBIDDEN', 'no');
    expect(toProblem(problem)).toBe(problem);
  });
});
