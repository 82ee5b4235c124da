import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { madeUpMix, mixOf } from '../mix.js';
import { RedisInstance } from '../redis-instance.js';
import { urlAt } from '../workload.js';
import { BitRoundTrips } from './bit-round-trips.js';
import type { Contender } from './contender.js';
import { FingerprintSet } from './fingerprint-set.js';
import { HashCounters } from './hash-counters.js';
import { ModuleFilter } from './module-filter.js';
import { NpmFilter } from './npm-filter.js';
import { noPasses, runRound, survey, WORKLOADS } from './workloads.js';

const PEERS: Readonly<Record<string, (redis: RedisInstance) => Contender>> = {
  'sadd-sha1-pipelined': (redis) => new FingerprintSet(redis, 'pipelined'),
  'sadd-sha1-variadic': (redis) => new FingerprintSet(redis, 'variadic'),
  'hash-counters-lua': (redis) => new HashCounters(redis),
  'getbit-setbit': (redis) => new BitRoundTrips(redis),
  'npm-bloom-filters': () => new NpmFilter(),
};

let redis: RedisInstance;

beforeAll(async () => {
  redis = await RedisInstance.start();
});

afterAll(() => redis.stop());

describe.each(Object.entries(PEERS))('the peer %s', (name, make) => {
  let peer: Contender;

  beforeAll(async () => {
    peer = make(redis);
    await peer.reset(1_000);
  });

  afterAll(() => peer.close());

  it('has its name', () => expect(peer.name).toBe(name));

  it('counts new, present and removed items', async () => {
    const items = Array.from({ length: 100 }, (_, i) => urlAt(i));
    expect(await peer.call('check', items)).toBe(0);
    expect(await peer.call('add', items)).toBe(100);
    expect(await peer.call('add', items)).toBe(0);
    expect(await peer.call('check', items)).toBe(100);
    expect(await peer.bytes()).toBeGreaterThan(100);
    if (!peer.removes) return;
    expect(await peer.call('remove', items)).toBe(100);
    expect(await peer.call('check', items)).toBe(0);
  });

  it('runs the workloads, and keeps the promised error rate', async () => {
    const mix = mixOf(madeUpMix(2_000, urlAt));
    const { bytesPerItem, errorRate } = await survey(peer, mix);
    expect(bytesPerItem).toBeGreaterThan(1);
    expect(errorRate).toBeLessThan(0.03);
    const passes = noPasses();
    await runRound(peer, mix, passes);
    const measured = WORKLOADS.map((workload) => passes[workload].map(({ items }) => items));
    const tenth = Math.ceil(mix.distinct.length / 10);
    expect(measured).toEqual([
      [mix.distinct.length],
      [mix.distinct.length],
      peer.removes ? [tenth] : [],
      [2_000],
    ]);
  });
});

it('a server without filter modules has no module filter', async () => {
  expect(await ModuleFilter.at(redis.url)).toBeUndefined();
});
