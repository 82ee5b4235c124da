import { expect } from '@jest/globals';
import { InFlight } from '../../src/admission/in-flight.js';
import { call, freshName, type TestApp } from '../support/app.js';
import { until } from '../support/until.js';

/** Makes a filter, and answers the path of its items. */
export async function createFilter(app: TestApp): Promise<string> {
  const body = { name: freshName(), type: 'counting', capacity: 100_000, errorRate: 0.001 };
  expect(await call(app, 'POST', '/v1/filters', body)).toMatchObject({ status: 201 });
  return `/v1/filters/${body.name}/items`;
}

/** What the service counts as in flight. */
export function inFlight(app: TestApp): Record<string, number> {
  const counts = app.app.get(InFlight);
  const kinds = ['requests', 'streams', 'probes', 'bytes', 'answers'] as const;
  return Object.fromEntries(kinds.map((of) => [of, counts.count(of)]));
}

export const NOTHING = { requests: 0, streams: 0, probes: 0, bytes: 0, answers: 0 };

/** Waits until nothing is in flight. */
export async function untilIdle(app: TestApp): Promise<void> {
  const idle = async () => Object.values(inFlight(app)).every((count) => count === 0);
  await until(`nothing in flight, but ${JSON.stringify(inFlight(app))}`, idle);
}
