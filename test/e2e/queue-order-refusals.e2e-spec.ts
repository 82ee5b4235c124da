import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Answer, TestApp } from '../support/app.js';
import { Synced } from '../support/synced.js';
import { STORES } from './stores.js';

const DAY = 86_400;
const TEN_YEARS = 315_360_000;
const url = (n: number | string): string => `https://example.org/${n}`;
const refused = (detail: string) => ({
  status: 400,
  body: { code: 'VALIDATION_FAILED', detail: expect.stringContaining(detail) },
});

describe.each(STORES)('refusals of order and time over HTTP, $name store', ({ start }) => {
  let app: TestApp;
  let plain: Synced;
  let ageing: Synced;
  beforeAll(async () => {
    app = await start();
    plain = await Synced.visitedSet(app);
    ageing = await Synced.visitedSet(app, { maxAgeSeconds: DAY });
  });
  afterAll(() => app.close());

  const WHOLE = 'must be a whole number from';
  const PRIORITY = 'priority must be high, normal or low, not';
  it.each([
    [{ priority: 'urgent' }, `${PRIORITY} "urgent"`],
    [{ priority: 'High' }, `${PRIORITY} "High"`],
    [{ priority: 1 }, `${PRIORITY} 1`],
    [{ priority: null }, `${PRIORITY} null`],
    [{ delaySeconds: TEN_YEARS + 1 }, `delaySeconds ${WHOLE} 0 to 315360000, not 315360001`],
    [{ delaySeconds: -1 }, `delaySeconds ${WHOLE} 0 to 315360000, not -1`],
    [{ delaySeconds: 0.5 }, `delaySeconds ${WHOLE} 0 to 315360000, not 0.5`],
    [{ delaySeconds: '60' }, `delaySeconds ${WHOLE} 0 to 315360000, not "60"`],
  ])('name the limit for discover with %j, and nothing is visited', async (options, detail) => {
    const sent = await plain.send('POST', '/urls/discover', { urls: [url(1)], ...options });
    expect(sent).toMatchObject(refused(detail));
    expect(await plain.batch('check', [url(1)])).toEqual(['unseen']);
  });

  const stream = async (set: Synced, query: string): Promise<Answer> => {
    const answer = await fetch(`${app.url}${set.path}/urls/discover?${query}`, {
      method: 'POST',
      headers: { 'content-type': 'text/plain' },
      body: `${url(1)}\n`,
    });
    return { status: answer.status, headers: answer.headers, body: await answer.json() };
  };

  it.each([
    ['priority=urgent', `${PRIORITY} "urgent"`],
    ['priority=high&priority=low', `${PRIORITY} an array of 2`],
    ['delaySeconds=1.5', `delaySeconds ${WHOLE} 0 to 315360000, not "1.5"`],
    ['delaySeconds=007', `delaySeconds ${WHOLE} 0 to 315360000, not "007"`],
    [`delaySeconds=${TEN_YEARS + 1}`, `delaySeconds ${WHOLE} 0 to 315360000, not 315360001`],
  ])('name the limit for a stream with ?%s', async (query, detail) => {
    expect(await stream(plain, query)).toMatchObject(refused(detail));
    expect(await plain.batch('check', [url(1)])).toEqual(['unseen']);
  });

  it('cover an option in both the query and the body', async () => {
    const sent = await plain.send('POST', '/urls/discover?priority=low', {
      ...{ urls: [url(1)], priority: 'high' },
    });
    const detail = 'priority must be in the query or in the body, not both: "low" and "high"';
    expect(sent).toMatchObject(refused(detail));
  });

  it('cover queue options on routes that don’t queue', async () => {
    for (const option of [{ priority: 'high' }, { delaySeconds: 0 }]) {
      const sent = await plain.send('POST', '/urls/visit', { urls: [url(1)], ...option });
      expect(sent).toMatchObject(refused('is not a member of this request'));
    }
  });

  it('cover a delay that isn’t shorter than the URLs’ life', async () => {
    const discover = (options: object) =>
      ageing.send('POST', '/urls/discover', { urls: [url(1)], ...options });
    expect(await discover({ delaySeconds: DAY })).toMatchObject(
      refused(
        `delaySeconds must be less than 86400, the maxAgeSeconds of visited set "${ageing.name}", not 86400`,
      ),
    );
    expect(await discover({ delaySeconds: 60, ttlSeconds: 60 })).toMatchObject(
      refused('delaySeconds must be less than 60, the time to live of the URLs, not 60'),
    );
    expect(await stream(ageing, `delaySeconds=${DAY}`)).toMatchObject(refused('must be less than 86400'));
    expect(await ageing.batch('check', [url(1)])).toEqual(['unseen']);
  });

  it('name the limit for ack, and the reason in a set that ages', async () => {
    for (const againAfterSeconds of [0, TEN_YEARS + 1, 1.5, '60', null]) {
      expect(await plain.send('POST', '/queue/ack', { ids: [], againAfterSeconds })).toMatchObject(
        refused(`againAfterSeconds ${WHOLE} 1 to 315360000, not ${JSON.stringify(againAfterSeconds)}`),
      );
    }
    expect(await ageing.send('POST', '/queue/ack', { ids: [], againAfterSeconds: 60 })).toMatchObject(
      refused(`againAfterSeconds is not allowed (got 60): visited set "${ageing.name}" has maxAgeSeconds`),
    );
  });
});
