import type { BrowserContext } from 'playwright-core';

const MINUTES = 360;
/** The store was unavailable between these points. */
const [GONE, BACK] = [200, 215];

/** Serves a history of six hours for every set, because a real one would take six hours. */
export async function rememberSixHours(context: BrowserContext): Promise<void> {
  const now = Date.now();
  const minutes = Array.from({ length: MINUTES }, (_, i) => i).filter((i) => i < GONE || i > BACK);
  const points = minutes.map((i) => ({
    at: new Date(now - (MINUTES - i) * 60_000).toISOString(),
    items: 100 * i,
    fill: i / 1_000,
    estimatedErrorRate: 1e-9 * i ** 2,
    added: 110 * i,
    duplicate: 240 * i,
    removed: 10 * i,
    refused: 0,
    queue: { waiting: 50 * i, leased: 10 + (i % 7), delayed: i % 3, scheduled: 0, dead: Math.floor(i / 60) },
  }));
  const history = { watched: true, since: points[0]!.at, intervalSeconds: 60, points };
  await context.route(/\/history\?/, (route) => route.fulfill({ json: history }));
}
