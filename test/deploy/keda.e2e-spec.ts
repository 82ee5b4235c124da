import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { call, startApp, type TestApp } from '../support/app.js';
import { makeKey } from '../support/credentials.js';
import { manifestsIn, type Manifest } from './manifests.js';

interface ScaledObject extends Manifest {
  readonly spec: {
    readonly triggers: readonly {
      readonly type: string;
      readonly metadata: { readonly url: string; readonly valueLocation: string; readonly authMode: string };
    }[];
  };
}

const FILE = 'deploy/keda/crawl-workers.yaml';
const SET = '/v1/visited-sets/crawl';
/** A time in which a scheduled URL comes due. */
const DELAY_SECONDS = 600;

describe('the KEDA example', () => {
  const manifests = manifestsIn(readFileSync(FILE, 'utf8'));
  const { spec } = manifests.find(({ kind }) => kind === 'ScaledObject') as ScaledObject;

  let app: TestApp;
  /** The headers of a crawler, and those of KEDA. */
  let crawler: Record<string, string>;
  let keda: Record<string, string>;
  beforeAll(async () => {
    app = await startApp({ AUTH: 'keys' });
    crawler = (await makeKey(app, 'admin')).headers;
    keda = (await makeKey(app, 'read')).headers;
    await call(app, 'POST', '/v1/visited-sets', { name: 'crawl', capacity: 1_000 }, crawler);
  });
  afterAll(() => app.close());

  const post = async (path: string, body: object) =>
    (await call(app, 'POST', SET + path, body, crawler)).body;
  /** The values that KEDA reads, by the path of each. */
  const scaled = async () => {
    const values: Record<string, unknown> = {};
    for (const { type, metadata } of spec.triggers) {
      // KEDA then sends `Authorization: Bearer` with the parameter `token`.
      expect([type, metadata.authMode]).toEqual(['metrics-api', 'bearer']);
      const { body } = await call(app, 'GET', new URL(metadata.url).pathname, undefined, keda);
      values[metadata.valueLocation] = metadata.valueLocation
        .split('.')
        .reduce<unknown>((value, member) => (value as Record<string, unknown>)[member], body);
    }
    return values;
  };

  it('scales on the URLs that workers could lease, and on those that they hold', async () => {
    expect(await scaled()).toEqual({ 'queue.waiting': 0, 'queue.leased': 0 });
    const urls = [1, 2, 3].map((i) => `https://example.org/${i}`);
    await post('/urls/discover', { urls });
    expect(await scaled()).toEqual({ 'queue.waiting': 3, 'queue.leased': 0 });
    const leased = (await post('/queue/lease', { max: 2, leaseSeconds: 60 })) as { urls: { id: string }[] };
    expect(await scaled()).toEqual({ 'queue.waiting': 1, 'queue.leased': 2 });
    const last = (await post('/queue/lease', { max: 1, leaseSeconds: 60 })) as typeof leased;
    await post('/queue/ack', { ids: [...leased.urls, ...last.urls].map(({ id }) => id) });
    expect(await scaled()).toEqual({ 'queue.waiting': 0, 'queue.leased': 0 });
  });

  it('sees that a URL has come due, although no worker leases', async () => {
    await post('/urls/discover', { urls: ['https://example.org/later'], delaySeconds: DELAY_SECONDS });
    expect(await scaled()).toEqual({ 'queue.waiting': 0, 'queue.leased': 0 });
    app.advance(1_000 * DELAY_SECONDS);
    expect(await scaled()).toEqual({ 'queue.waiting': 1, 'queue.leased': 0 });
  });
});
