import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { StreamedBody } from './streamed-body.js';

const LIMITS = { maxStreamBytes: 1e9, idleMs: 200_000, minBytesPerSecond: 1 };

afterEach(() => {
  jest.useRealTimers();
});

describe('StreamedBody', () => {
  it('stops waiting for a chunk when it is left, and leaves no timer running', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'performance'] });
    const body = new StreamedBody(new PassThrough() as unknown as IncomingMessage);
    let ended = false;
    const chunk = body
      .chunks(LIMITS)
      .next()
      .catch(() => (ended = true));
    await setImmediate();
    expect(jest.getTimerCount()).toBe(1);
    body.leave();
    await setImmediate();
    expect([ended, jest.getTimerCount()]).toEqual([true, 0]);
    await chunk;
  });

  it('does not begin to wait after it was left', async () => {
    const body = new StreamedBody(new PassThrough() as unknown as IncomingMessage);
    body.leave();
    await expect(body.chunks(LIMITS).next()).rejects.toThrow();
  });
});
