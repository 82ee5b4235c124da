import { expect, it } from '@jest/globals';
import { Histogram, Registry } from 'prom-client';
import { Timings } from './timings.js';

it('timings give the same text as the library’s histogram', async () => {
  const own = new Registry();
  const theirs = new Registry();
  const timings = new Timings({ name: 't_seconds', help: 'Time', labels: ['verb', 'route'], registry: own });
  const histogram = new Histogram({
    name: 't_seconds',
    help: 'Time',
    labelNames: ['verb', 'route'],
    registers: [theirs],
    buckets: [
      ...[0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1],
      ...[0.25, 0.5, 1, 2.5, 5, 10],
    ],
  });
  // Bounds of buckets, and values between, below and above them.
  for (const seconds of [0, 0.0001, 0.00011, 0.3, 10, 10.5, 1e6]) {
    for (const [verb, route] of [
      ['add', '/a'],
      ['check', '/b"\\\n'],
    ] as const) {
      timings.observe(seconds, verb, route);
      histogram.observe({ verb, route }, seconds);
    }
  }
  expect(await own.metrics()).toBe(await theirs.metrics());
});
