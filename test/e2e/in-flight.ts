import { call, freshName, type TestApp } from '../support/app.js';
import { InFlight } from '../support/in-process.js';
import { until } from '../support/until.js';

/**
 * Creates a filter and returns the path of its items. It retries, because these services have a short request timeout,
 * and the first request may exceed it on a busy machine.
 */
export async function createFilter(app: TestApp): Promise<string> {
  const body = { name: freshName(), type: 'counting', capacity: 100_000, errorRate: 0.001 };
  await until(
    'the filter is created',
    async () => (await call(app, 'POST', '/v1/filters', body)).status < 300,
  );
  return `/v1/filters/${body.name}/items`;
}

/** The numbers of requests in flight, as the service counts them. */
export function inFlight(app: TestApp): Record<string, number> {
  const counts = app.app.get(InFlight);
  const kinds = ['requests', 'streams', 'probes', 'bytes', 'answers'] as const;
  return Object.fromEntries(kinds.map((of) => [of, counts.count(of)]));
}

export const NOTHING = { requests: 0, streams: 0, probes: 0, bytes: 0, answers: 0 };

/** The number of open connections. The service notices immediately when a client resets its connection. */
export function connections(app: TestApp): Promise<number> {
  return new Promise((resolve, reject) => {
    app.app.getHttpServer().getConnections((error, count) => {
      if (error) reject(error);
      else resolve(count);
    });
  });
}

/** Waits until no request is in flight. */
export async function untilIdle(app: TestApp): Promise<void> {
  const idle = async () => Object.values(inFlight(app)).every((count) => count === 0);
  await until(`nothing is in flight; before: ${JSON.stringify(inFlight(app))}`, idle);
}
