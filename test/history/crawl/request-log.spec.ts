import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { QueueAttempt, QueueOperation } from '../queue-history.js';
import { readLog, RequestLog } from './request-log.js';

const LEASE: QueueOperation = { id: 1, verb: 'lease', max: 1, seconds: 2, waitSeconds: 0 };
const ACK: QueueOperation = { id: 2, verb: 'ack', ids: ['one'], seconds: 0 };
const ANSWERED: QueueAttempt = {
  ...{ operation: LEASE, client: 1, instance: 0, start: 5, end: 6, outcome: 'ok' },
  answers: { leased: [{ id: 'one', url: 'https://example.org/', discovery: 3, attempt: 1 }] },
};

describe('a worker’s log', () => {
  let folder = '';
  let path = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'unseen-log-'));
    path = join(folder, 'log');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('contains the operations with answers, and counts the last one sent as possibly done', () => {
    const log = new RequestLog(path);
    log.sends(LEASE);
    log.learns([ANSWERED]);
    log.sends(ACK);
    const [first, last, ...others] = readLog(path);
    expect(others).toEqual([]);
    expect(first).toEqual({ ...ANSWERED, start: first?.start, end: first?.end });
    expect(first?.start).toBeCloseTo(ANSWERED.start);
    expect(first?.end).toBeCloseTo(ANSWERED.end);
    expect(last).toMatchObject({ operation: ACK, outcome: 'info' });
    const now = performance.now();
    expect(last?.start).toBeLessThanOrEqual(now);
  });

  it('ignores a line cut off during writing, before the request or before its answer counts', () => {
    const log = new RequestLog(path);
    log.sends(LEASE);
    appendFileSync(path, '{"attempts":[{"cl');
    expect(readLog(path)).toMatchObject([{ operation: LEASE, outcome: 'info' }]);
  });
});
