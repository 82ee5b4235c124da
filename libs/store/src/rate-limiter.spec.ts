import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { rateLimiterOn } from './rate-limiter.js';

const NOW = 1_800_000_000_000;

beforeEach(() => void jest.useFakeTimers({ now: NOW, doNotFake: ['nextTick', 'queueMicrotask'] }));
afterEach(() => void jest.useRealTimers());

it('allows each caller 3 calls in the second after its first, and says how long to wait with the others', async () => {
  const limiter = rateLimiterOn(new RateLimiterMemory({ points: 3, duration: 1 }));
  const take = async (count: number, caller = 'one'): Promise<number[]> => {
    const waits: number[] = [];
    for (let n = 0; n < count; n++) waits.push((await limiter.take(caller, 1)).waitMs);
    return waits;
  };
  expect(await take(2)).toEqual([0, 0]);
  jest.advanceTimersByTime(400);
  expect(await take(3)).toEqual([0, 600, 600]);
  expect(await take(3, 'another')).toEqual([0, 0, 0]);
  jest.advanceTimersByTime(599);
  expect(await take(1)).toEqual([1]);
  jest.advanceTimersByTime(1);
  expect(await take(4)).toEqual([0, 0, 0, 1_000]);
});

it('says how many of several calls are within the limit', async () => {
  const limiter = rateLimiterOn(new RateLimiterMemory({ points: 3, duration: 1 }));
  expect(await limiter.take('one', 2)).toEqual({ within: 2, waitMs: 0 });
  expect(await limiter.take('one', 5)).toEqual({ within: 1, waitMs: 1_000 });
  expect(await limiter.take('one', 1)).toEqual({ within: 0, waitMs: 1_000 });
  expect(await limiter.take('another', 9)).toEqual({ within: 3, waitMs: 1_000 });
});

it('lets no call through if the limiter refuses from memory, without counting', async () => {
  const client = new RateLimiterMemory({ points: 3, duration: 1 });
  jest.spyOn(client, 'consume').mockRejectedValue(new RateLimiterRes(0, 700, 0, false));
  const limiter = rateLimiterOn(client);
  expect(await limiter.take('one', 2)).toEqual({ within: 0, waitMs: 700 });
});
