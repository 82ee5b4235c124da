import { readFileSync } from 'node:fs';
import { call, type TestApp } from './app.js';
import { HistorySampler } from './in-process.js';

/** One call's request and response in the story. */
export interface Told {
  readonly request?: unknown;
  readonly response?: unknown;
}

interface Operation {
  readonly method: string;
  readonly path: string;
}

/** The routes in the OpenAPI document, by operation id. */
function operations(): ReadonlyMap<string, Operation> {
  const { paths } = JSON.parse(readFileSync('docs/openapi.json', 'utf8')) as {
    paths: Record<string, Record<string, { operationId: string }>>;
  };
  return new Map(
    Object.entries(paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, { operationId }]) => [operationId, { method, path }] as const),
    ),
  );
}

const URLS = ['https://example.org/a?b=1', 'https://example.org/'];
const ATTEMPTS = 3;

/**
 * Calls every operation that takes and returns JSON, in an order in which a user might. Returns requests and responses
 * by operation id.
 */
export async function tellStory(app: TestApp): Promise<Map<string, Told>> {
  const known = operations();
  const told = new Map<string, Told>();
  const credentials: Record<string, string> = {};
  const send = async <T>(id: string, params: Record<string, string>, request?: unknown): Promise<T> => {
    const operation = known.get(id);
    if (!operation) throw new Error(`there is no operation ${id}`);
    const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => params[name] ?? '');
    const { status, body } = await call(app, operation.method.toUpperCase(), path, request, credentials);
    if (status >= 300) throw new Error(`${id} answered ${status}: ${JSON.stringify(body)}`);
    // Redis leases from segments in arbitrary order.
    const { urls } = (body ?? {}) as { urls?: { url: string }[] };
    if (Array.isArray(urls)) urls.sort((a, b) => (a.url < b.url ? 1 : -1));
    if (!told.has(id)) {
      told.set(id, {
        ...(request === undefined ? {} : { request }),
        ...(body === undefined ? {} : { response: body }),
      });
    }
    return body as T;
  };

  /** Imports a set's or filter's export under another name, then drops that copy. */
  const copy = async (
    kind: 'visited-sets' | 'filters',
    name: string,
    id: string,
    drop: string,
  ): Promise<void> => {
    const file = await (await fetch(`${app.url}/v1/${kind}/${name}/export`)).arrayBuffer();
    const answer = await fetch(`${app.url}/v1/${kind}/import?name=copy`, {
      method: 'POST',
      headers: { 'content-type': 'application/octet-stream' },
      body: file,
    });
    const response = await answer.json();
    if (!answer.ok) throw new Error(`${id} answered ${answer.status}: ${JSON.stringify(response)}`);
    told.set(id, { response });
    await send(drop, { name: 'copy' });
  };

  const set = { name: 'crawl' };
  await send('createVisitedSet', {}, { name: 'crawl', capacity: 1_000_000, maxAttempts: ATTEMPTS });
  await send('discoverUrls', set, { urls: [URLS[0], { url: URLS[1], payload: '{"depth":1}' }] });
  type Leases = { urls: { id: string; url: string }[] };
  const lease = async (max = 10): Promise<string[]> =>
    (await send<Leases>('leaseUrls', set, { max, leaseSeconds: 60 })).urls.map(({ id }) => id);
  const [first = '', second = ''] = await lease();
  await send('extendLeases', set, { ids: [first, second], leaseSeconds: 120 });
  await send('ackUrls', set, { ids: [first] });
  const release = (id: string) =>
    send('releaseUrls', set, { ids: [id], delaySeconds: 0, reason: 'HTTP 503' });
  await release(second);
  const fail = async (times: number): Promise<void> => {
    for (let n = 0; n < times; n++) await release((await lease())[0] ?? '');
  };
  await fail(ATTEMPTS - 1);
  type Dead = { urls: { id: string }[] };
  const dead = async (): Promise<string[]> =>
    (await send<Dead>('listDeadLetters', set)).urls.map(({ id }) => id);
  await send('putBackDeadLetters', set, { ids: await dead() });
  await fail(ATTEMPTS);
  await send('purgeDeadLetters', set, { ids: await dead() });
  await send('visitUrls', set, { urls: ['https://example.org/c', 'https://example.org/d'] });
  await send('checkUrls', set, { urls: [URLS[0], 'https://example.org/e'] });
  await send('forgetUrls', set, { urls: ['https://example.org/c', 'https://example.org/e'] });
  await send('explainUrls', set, { urls: ['HTTPS://example.org:443/a?b=1#top', 'mailto:a@example.org'] });
  await send('getVisitedSetCounters', set);
  await app.app.get(HistorySampler).round(0);
  await app.app.get(HistorySampler).round(0);
  await send('getVisitedSetHistory', set);
  await send('getVisitedSet', set);
  await send('listVisitedSets', {});
  const sync = await send<{ id: string }>('openVisitedSetSync', set, { capacity: 2_000_000 });
  await send('keepUrls', { ...set, ...sync }, { urls: [...URLS, 'https://example.org/new'] });
  await send('getVisitedSetSync', { ...set, ...sync });
  await send('commitVisitedSetSync', { ...set, ...sync }, { maxForgetShare: 0.5 });
  await send('abandonVisitedSetSync', {
    ...set,
    ...(await send<{ id: string }>('openVisitedSetSync', set, {})),
  });
  await copy('visited-sets', 'crawl', 'importVisitedSet', 'dropVisitedSet');
  await send('clearVisitedSet', set);
  await send('discoverUrls', set, { urls: ['https://example.org/b', 'https://example.org/archive/1'] });
  await send('listQueuedUrls', set);
  await send('dropQueuedUrls', set, { prefix: 'https://example.org/archive/', forget: true });
  await send('dropVisitedSet', set);

  const polite = { name: 'polite', host: 'example.org' };
  await call(app, 'POST', '/v1/visited-sets', { name: 'polite', capacity: 1_000, perHost: { maxLeased: 1 } });
  await call(app, 'POST', '/v1/visited-sets/polite/urls/discover', { urls: URLS });
  await send('setHost', polite, { delaySeconds: 10, blockedUntil: '2030-01-31T12:00:00Z' });
  await send('getHost', polite);
  await send('listHosts', polite);
  await send('dropHost', polite);
  await send('dropVisitedSet', polite);

  const filter = { name: 'pages' };
  await send('planFilter', {}, { type: 'counting', capacity: 1_000_000, errorRate: 0.001, growth: 'auto' });
  await send('createFilter', {}, { name: 'pages', type: 'counting', capacity: 1_000_000, errorRate: 0.001 });
  await send('addItems', filter, { items: ['alpha', 'beta', 'alpha'] });
  await send('checkItems', filter, { items: ['alpha', 'gamma'] });
  await send('countItems', filter, { items: ['alpha', 'gamma'] });
  await send('removeItems', filter, { items: ['beta', 'gamma'] });
  await send('explainItems', filter, { items: ['alpha'] });
  await send('getFilterCounters', filter);
  await app.app.get(HistorySampler).round(0);
  await app.app.get(HistorySampler).round(0);
  await send('getFilterHistory', filter);
  await send('getFilter', filter);
  await send('listFilters', {});
  const list = await send<{ id: string }>('openFilterSync', filter, { errorRate: 0.0001 });
  await send('keepItems', { ...filter, ...list }, { items: ['alpha', 'delta'] });
  await send('getFilterSync', { ...filter, ...list });
  await send('commitFilterSync', { ...filter, ...list }, { dryRun: true });
  await send('abandonFilterSync', { ...filter, ...list });
  await copy('filters', 'pages', 'importFilter', 'dropFilter');
  await send('clearFilter', filter);
  await send('dropFilter', filter);

  await send('getHealth', {});
  await send('getReadiness', {});
  const { id, key } = await send<{ id: string; key: string }>(
    'createKey',
    {},
    { name: 'ops', scopes: ['admin'] },
  );
  credentials.authorization = `Bearer ${key}`;
  await send('getMe', {});
  const { id: next } = await send<{ id: string }>('rotateKey', { id }, { overlapSeconds: 3_600 });
  await send('listKeys', {});
  await send('revokeKey', { id: next });
  await send('revokeKey', { id });
  return told;
}
