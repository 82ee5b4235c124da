import { connect } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Collector, type CollectedSpan } from '../support/collector.js';
import { modulesRun } from '../support/modules-run.js';
import { MetricsPage } from '../support/metrics.js';
import { freePort, startRedis, type RedisServer } from '../support/redis-server.js';
import { RespClient } from '../support/resp-client.js';
import { startProcess, type ServiceProcess } from '../support/service-process.js';
import { statusOf } from '../support/status-of.js';
import { until } from '../support/until.js';

const SETS = '/v1/visited-sets';
const SET = `${SETS}/wordOfSet`;
/** The most spans of a request: see src/tracing/trace.ts. */
const MOST_SPANS = 100;

interface Problem {
  readonly code: string;
  readonly requestId: string;
  readonly traceId?: string;
}

let ids = 0;
/** A caller's span. Each call has another trace. */
function callerSpan(flags = '01') {
  const traceId = (++ids).toString(16).padStart(32, 'a');
  const spanId = ids.toString(16).padStart(16, 'b');
  return { traceId, spanId, traceparent: `00-${traceId}-${spanId}-${flags}` };
}

async function send(
  url: string,
  body?: object | string,
  headers: Record<string, string> = {},
): Promise<Response> {
  if (body === undefined) return fetch(url, { headers });
  const type = typeof body === 'string' ? 'text/plain' : 'application/json';
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return fetch(url, { method: 'POST', headers: { 'content-type': type, ...headers }, body: text });
}

async function spansOutcomes(url: string): Promise<Record<string, number>> {
  return new MetricsPage(await (await fetch(`${url}/metrics`)).text()).of('unseen_trace_spans_total');
}

/** Spans as lines with their parents' names. `caller` is the parent from the caller. */
function treeOf(spans: readonly CollectedSpan[]): string[] {
  const names = new Map(spans.map(({ id, name }) => [id, name]));
  return spans
    .map(({ name, parentId }) => `${parentId && (names.get(parentId) ?? 'caller')} > ${name}`)
    .sort();
}

/** The lines that a service has logged. */
const linesOf = (service: ServiceProcess): Record<string, unknown>[] =>
  service
    .stdout()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Record<string, unknown>);

const STORES = [
  { store: 'embedded', scripts: [] },
  { store: 'redis', scripts: ['store check > redis check'] },
] as const;

describe.each(STORES)('a traced service on the $store store', ({ store, scripts }) => {
  let collector: Collector;
  let redis: RedisServer | undefined;
  let service: ServiceProcess;
  let url: string;

  beforeAll(async () => {
    collector = await Collector.start();
    redis = store === 'redis' ? await startRedis() : undefined;
    service = await startProcess({
      ...collector.settings,
      ...(redis && { REDIS_URL: redis.url, REDIS_TIMEOUT_MS: '60000' }),
      AUTH: 'none',
      RESP_PORT: '0',
      LOG_LEVEL: 'debug',
      MAX_STREAMS: '1',
    });
    url = await service.url();
    expect((await send(url + SETS, { name: 'wordOfSet', capacity: 100_000 })).status).toBe(201);
    const filter = { name: 'items', type: 'standard', capacity: 1_000, errorRate: 0.01 };
    expect((await send(`${url}/v1/filters`, filter)).status).toBe(201);
    // The first call on a set also reads it from the catalogue.
    await send(`${url + SET}/urls/check`, { urls: ['https://a.example/'] });
  });
  afterAll(async () => {
    await service.clean();
    await redis?.stop();
    collector.stop();
  });

  it.each([
    ['one URL', ['https://wordOfUrl.example/1']],
    ['a batch', [1, 2, 3, 4].map((n) => `https://wordOfUrl.example/${n}`)],
  ])('sends the steps of a check of %s, below the caller’s span', async (_, urls) => {
    const { traceId, spanId, traceparent } = callerSpan();
    const answer = await send(`${url + SET}/urls/check`, { urls }, { traceparent, tracestate: 'a=1,b=2' });
    expect(answer.status).toBe(200);
    const spans = await collector.trace(traceId);
    const request = 'POST /v1/visited-sets/:name/urls/check';
    expect(treeOf(spans)).toEqual(
      [
        `caller > ${request}`,
        `${request} > admission wait`,
        `${request} > identity`,
        `${request} > store check`,
        ...scripts,
      ].sort(),
    );
    const root = spans.find(({ name }) => name === request)!;
    expect(root).toMatchObject({ kind: 'server', parentId: spanId, isFailed: false });
    expect(root.attributes).toEqual({
      'http.request.method': 'POST',
      'http.route': '/v1/visited-sets/:name/urls/check',
      'http.response.status_code': 200,
    });
    for (const { began, ended, traceState } of spans) {
      expect(traceState).toBe('a=1,b=2');
      expect([began >= root.began, ended >= began, ended <= root.ended]).toEqual([true, true, true]);
    }
    for (const span of spans.filter(({ name }) => name === 'redis check')) {
      const attributes = { 'db.system.name': 'redis', 'db.stored_procedure.name': 'check' };
      expect(span).toMatchObject({ kind: 'client', attributes });
    }
  });

  it('names the trace in problem documents and log lines', async () => {
    const { traceId, traceparent } = callerSpan();
    const answer = await send(`${url + SET}/urls/check`, { urls: 3 }, { traceparent });
    const problem = (await answer.json()) as Problem;
    expect(problem).toMatchObject({ code: 'VALIDATION_FAILED', traceId });
    const [root] = await collector.trace(traceId);
    expect(root).toMatchObject({ isFailed: false, attributes: { 'error.type': 'VALIDATION_FAILED' } });
    const named = (): Record<string, unknown>[] =>
      linesOf(service).filter(({ requestId }) => requestId === problem.requestId);
    await until('the service logs the request', () => Promise.resolve(named().length > 0));
    expect(named()).toEqual(named().map((line) => ({ ...line, traceId })));
  });

  it.each([
    ['malformed', `00-${'g'.repeat(32)}-${'b'.repeat(16)}-01`],
    ['all zeros', `00-${'0'.repeat(32)}-${'b'.repeat(16)}-01`],
    ['of an unknown form', `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01-more`],
    ['huge', '0'.repeat(8_000)],
  ])('begins a trace if the caller’s is %s', async (_, traceparent) => {
    const answer = await send(`${url}${SETS}/missing`, undefined, { traceparent });
    const { traceId = '' } = (await answer.json()) as Problem;
    expect(traceId).toMatch(/^[0-9a-f]{32}$/);
    expect(traceparent).not.toContain(traceId);
    expect((await collector.trace(traceId))[0]).toMatchObject({
      parentId: '',
      name: 'GET /v1/visited-sets/:name',
      attributes: { 'error.type': 'VISITED_SET_NOT_FOUND', 'http.response.status_code': 404 },
    });
  });

  it('sends no spans if the caller has not sampled its trace, but names it', async () => {
    const { traceId, traceparent } = callerSpan('00');
    const answer = await send(`${url}${SETS}/missing`, undefined, { traceparent });
    expect(await answer.json()).toMatchObject({ traceId });
    const later = callerSpan();
    await send(`${url}${SETS}/missing`, undefined, { traceparent: later.traceparent });
    await collector.trace(later.traceId);
    expect(collector.spans.filter((span) => span.traceId === traceId)).toEqual([]);
  });

  it('leaves out a large tracestate', async () => {
    const members = Array.from({ length: 20 }, (_, n) => `vendor${n}=${'x'.repeat(40)}`);
    const { traceId, traceparent } = callerSpan();
    await send(`${url}${SETS}/missing`, undefined, { traceparent, tracestate: members.join(',') });
    expect((await collector.trace(traceId))[0]).toMatchObject({ traceState: '' });
  });

  it('sends a bounded number of spans for a stream, and their number', async () => {
    const { traceId, traceparent } = callerSpan();
    const lines = Array.from({ length: 60_000 }, (_, n) => `https://a.example/${n}\n`).join('');
    const answer = await send(`${url + SET}/urls/check`, lines, { traceparent });
    expect(await answer.text()).toContain('"done":true');
    const spans = await collector.trace(traceId);
    expect(spans).toHaveLength(MOST_SPANS);
    const leftOut = spans[0]!.attributes['unseen.spans_left_out'];
    // 60 blocks, each with its identity and its call.
    expect(leftOut).toBeGreaterThan(120 - MOST_SPANS);
    expect(await spansOutcomes(url)).toMatchObject({ '{outcome="too_many"}': leftOut });
  });

  it('marks a stream that a bad line ends', async () => {
    const { traceId, traceparent } = callerSpan();
    const headers = { traceparent, 'content-type': 'application/x-ndjson' };
    const lines = `${'"https://a.example/"\n'.repeat(1_000)}{`;
    const answer = await send(`${url + SET}/urls/check`, lines, headers);
    const last = (await answer.text()).trim().split('\n').at(-1)!;
    expect(JSON.parse(last)).toMatchObject({ error: { traceId } });
    expect((await collector.trace(traceId))[0]!.attributes).toMatchObject({
      'http.response.status_code': 200,
      'error.type': 'VALIDATION_FAILED',
    });
  });

  it('marks a request that it refuses unread as failed, and one whose client leaves', async () => {
    const { hostname, port } = new URL(url);
    const holder = connect(Number(port), hostname);
    const left = callerSpan();
    const head = `POST ${SET}/urls/check HTTP/1.1\r\nhost: localhost\r\ntraceparent: ${left.traceparent}\r\n`;
    holder.write(`${head}content-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n`);
    await until('a stream is open', async () => {
      const page = new MetricsPage(await (await fetch(`${url}/metrics`)).text());
      return page.value('unseen_in_flight_requests{kind="streams"}') === 1;
    });
    const { traceId, traceparent } = callerSpan();
    const answer = await send(`${url + SET}/urls/check`, 'https://a.example/\n', { traceparent });
    holder.destroy();
    expect([answer.status, await answer.json()]).toEqual([503, expect.objectContaining({ traceId })]);
    expect((await collector.trace(traceId))[0]).toMatchObject({
      isFailed: true,
      attributes: { 'error.type': 'OVERLOADED', 'http.response.status_code': 503 },
    });
    const [root] = await collector.trace(left.traceId);
    expect(root).toMatchObject({ isFailed: false, attributes: { 'error.type': 'client_left' } });
    expect(root!.attributes).not.toHaveProperty('http.response.status_code');
  });

  it('covers the wait of a lease', async () => {
    const { traceId, traceparent } = callerSpan();
    const body = { max: 1, leaseSeconds: 60, waitSeconds: 20 };
    const leased = send(`${url + SET}/queue/lease`, body, { traceparent });
    await until('the lease waits', async () => {
      const page = new MetricsPage(await (await fetch(`${url}/metrics`)).text());
      return page.value('unseen_leases_waiting') === 1;
    });
    const adding = callerSpan();
    const added = { urls: ['https://a.example/queued'] };
    await send(`${url + SET}/urls/discover`, added, { traceparent: adding.traceparent });
    expect((await (await leased).json()) as object).toMatchObject({ urls: [{}] });
    const spans = await collector.trace(traceId);
    const request = 'POST /v1/visited-sets/:name/queue/lease';
    // The first attempt, one when the wait began, and the one that finds the URL.
    expect(treeOf(spans).filter((line) => line === `${request} > store lease`).length).toBeGreaterThan(2);
    // All waiting leases share the watch of the queue. It belongs to none of them.
    expect(treeOf(spans).filter((line) => line.startsWith(`${request} > redis`))).toEqual([]);
    expect((await collector.trace(adding.traceId)).map(({ name }) => name)).not.toContain('store lease');
  });

  it('sends one span for each batch of commands of the Redis protocol', async () => {
    const [, port] = /open on port (\d+)/.exec(service.stdout())!;
    const client = await RespClient.connect(Number(port));
    const commands = Array.from({ length: 500 }, (_, n) => ['BF.EXISTS', 'items', `wordOfItem${n}`]);
    await client.pipeline([['PING'], ...commands]);
    client.destroy();
    const batches = (): CollectedSpan[] => collector.spans.filter(({ name }) => name === 'RESP BF.EXISTS');
    const sum = (): number =>
      batches().reduce((total, span) => total + Number(span.attributes['unseen.commands']), 0);
    await until('all commands are in spans', () => Promise.resolve(sum() === 500));
    const page = new MetricsPage(await (await fetch(`${url}/metrics`)).text());
    const name = 'unseen_resp_batch_duration_seconds_count{command="BF.EXISTS"}';
    expect(batches()).toHaveLength(page.value(name)!);
    const [root] = batches();
    expect(root).toMatchObject({ kind: 'server', parentId: '', isFailed: false });
    expect(treeOf(await collector.trace(root!.traceId))).toEqual(
      expect.arrayContaining([` > RESP BF.EXISTS`, 'RESP BF.EXISTS > store check', ...scripts]),
    );
    expect(collector.spans.map((span) => span.name)).not.toContain('RESP PING');
  });

  // The last test: it looks at all messages.
  it('sends nothing that callers have sent, except for traces, and no probes', async () => {
    const { traceId, traceparent } = callerSpan();
    const headers = { traceparent, authorization: 'Bearer wordOfKey', 'user-agent': 'wordOfAgent' };
    for (const path of ['/readyz', '/healthz', '/metrics']) await statusOf(url + path);
    await send(`${url + SET}?wordOfQuery=1`, undefined, headers);
    await send(`${url}/wordOfPath`, undefined, headers);
    await collector.trace(traceId);
    const root = await collector.span('GET');
    expect(root.attributes).toMatchObject({ 'http.response.status_code': 404 });
    const text = Buffer.concat(collector.bodies).toString('latin1');
    expect(text).not.toMatch(/wordOf/i);
    expect(text).not.toMatch(/readyz|healthz|metrics/);
  });

  it('ends without an error', async () => {
    service.child.kill('SIGTERM');
    expect(await service.exit()).toBe(0);
    expect(service.stderr()).toMatch(/^(?:WARNING: [^\n]*\n)+$/);
  });
});

describe('a service', () => {
  const running: { clean(): unknown }[] = [];
  const start = async (env: Record<string, string>): Promise<ServiceProcess> => {
    const service = await startProcess(env);
    running.push(service);
    return service;
  };
  const collect = async (): Promise<Collector> => {
    const collector = await Collector.start();
    running.push({ clean: () => collector.stop() });
    return collector;
  };
  afterEach(async () => {
    for (const one of running.splice(0)) await one.clean();
  });

  it('loads no part of OpenTelemetry without an endpoint', async () => {
    const isPart = (path: string): boolean =>
      /tracing\/open-telemetry|@opentelemetry\/(?:sdk|otlp|exporter)/.test(path);
    const parts = async (env: Record<string, string>): Promise<string[]> => {
      const { bundled } = await modulesRun(env, async (url) => {
        const answer = await send(`${url}${SETS}/missing`, undefined, callerSpan());
        expect('traceId' in ((await answer.json()) as Problem)).toBe('OTEL_EXPORTER_OTLP_ENDPOINT' in env);
      });
      return bundled.filter(isPart);
    };
    expect(await parts({ OTEL_SERVICE_NAME: 'unused' })).toEqual([]);
    const { settings } = await collect();
    expect(await parts(settings)).not.toEqual([]);
  });

  it('names itself as the operator does, and sends the operator’s headers', async () => {
    const collector = await collect();
    const service = await start({
      ...collector.settings,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-token=se%20cret',
      OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
      OTEL_SERVICE_NAME: 'crawl-memory',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test,service.name=other',
    });
    await send(`${await service.url()}${SETS}`);
    await collector.span('GET /v1/visited-sets');
    expect(collector.resource).toMatchObject({
      'service.name': 'crawl-memory',
      'service.version': expect.stringMatching(/^\d/),
      'deployment.environment.name': 'test',
    });
    const [{ url, headers } = { url: '', headers: {} }] = collector.requests;
    expect([url, headers]).toEqual([
      '/v1/traces',
      expect.objectContaining({ 'x-token': 'se cret', 'content-type': 'application/x-protobuf' }),
    ]);
  });

  it('ignores callers’ decisions with a sampler that is not based on them', async () => {
    const collector = await collect();
    const service = await start({
      ...collector.settings,
      OTEL_TRACES_SAMPLER: 'traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0',
    });
    const url = await service.url();
    const { traceId, traceparent } = callerSpan();
    const answer = await send(`${url}${SETS}/missing`, undefined, { traceparent });
    expect(await answer.json()).toMatchObject({ traceId });
    service.child.kill('SIGTERM');
    expect(await service.exit()).toBe(0);
    expect(collector.spans).toEqual([]);
  });

  it('marks store errors as failed, and names the trace in their log lines', async () => {
    const collector = await collect();
    const service = await start({
      ...collector.settings,
      REDIS_URL: 'redis://127.0.0.1:1',
      REDIS_TIMEOUT_MS: '10',
      AUTH: 'none',
    });
    const { traceId, traceparent } = callerSpan();
    const answer = await send(`${await service.url()}${SETS}`, undefined, { traceparent });
    expect([answer.status, await answer.json()]).toEqual([503, expect.objectContaining({ traceId })]);
    const spans = await collector.trace(traceId);
    const error = { 'error.type': 'STORE_UNAVAILABLE' };
    expect(spans[0]).toMatchObject({ isFailed: true, attributes: error });
    expect(spans.find(({ name }) => name === 'store list')).toMatchObject({
      isFailed: true,
      attributes: error,
    });
    const line = () => linesOf(service).find(({ code }) => code === 'STORE_UNAVAILABLE');
    await until('it logs the error', () => Promise.resolve(line() !== undefined));
    expect(line()).toMatchObject({ traceId });
  });

  it('marks requests beyond the rate limit, not as failed', async () => {
    const collector = await collect();
    const service = await start({ ...collector.settings, AUTH: 'none', RATE_LIMIT: '1' });
    const url = await service.url();
    let limited: Response | undefined;
    await until('a request is limited', async () => {
      const answer = await send(`${url}${SETS}`);
      if (answer.status === 429) limited = answer;
      return limited !== undefined;
    });
    const { traceId = '' } = (await limited!.json()) as Problem;
    expect((await collector.trace(traceId))[0]).toMatchObject({
      isFailed: false,
      attributes: { 'error.type': 'RATE_LIMITED', 'http.response.status_code': 429 },
    });
  });

  it('names methods as the conventions of OpenTelemetry do', async () => {
    const collector = await collect();
    const service = await start(collector.settings);
    await fetch((await service.url()) + SETS, { method: 'PROPFIND' });
    const { attributes } = await collector.span('HTTP');
    expect(attributes).toMatchObject({
      'http.request.method': '_OTHER',
      'http.request.method_original': 'PROPFIND',
      'http.response.status_code': 405,
    });
  });

  it('sends the spans that wait when it stops', async () => {
    const collector = await collect();
    const patient = { OTEL_BSP_SCHEDULE_DELAY: '600000', SHUTDOWN_GRACE_MS: '600000' };
    const service = await start({ ...collector.settings, ...patient });
    const { traceId, traceparent } = callerSpan();
    await send(`${await service.url()}${SETS}`, undefined, { traceparent });
    service.child.kill('SIGTERM');
    expect([await service.exit(), service.stderr()]).toEqual([0, '']);
    expect(collector.spans.map((span) => span.traceId)).toContain(traceId);
  });

  it('works without its collector, and logs that in few lines', async () => {
    const service = await start({
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${await freePort()}`,
      OTEL_EXPORTER_OTLP_TIMEOUT: '10',
      OTEL_BSP_SCHEDULE_DELAY: '0',
    });
    const url = await service.url();
    let failures = 0;
    let lost = 0;
    await until('many messages have failed', async () => {
      expect((await send(url + SETS)).status).toBe(200);
      const failed = (await spansOutcomes(url))['{outcome="failed"}']!;
      if (failed > lost) failures++;
      lost = failed;
      return failures >= 10;
    });
    const linesOfLoss = (): object[] =>
      linesOf(service).filter(({ msg }) => String(msg).includes('the collector takes no traces'));
    await until('it logs the loss', () => Promise.resolve(linesOfLoss().length > 0));
    const lines = linesOfLoss();
    expect(lines[0]).toMatchObject({
      level: 40,
      err: { message: expect.stringMatching(/ECONNREFUSED|time/) },
    });
    expect(lines.length).toBeLessThan(failures);
    service.child.kill('SIGTERM');
    expect([await service.exit(), service.stderr()]).toEqual([0, '']);
  });

  it('bounds the spans that a silent collector leaves waiting, and stops without its answer', async () => {
    const collector = await collect();
    collector.answer = () => undefined;
    const service = await start({
      ...collector.settings,
      OTEL_BSP_MAX_QUEUE_SIZE: '512',
      OTEL_EXPORTER_OTLP_TIMEOUT: '600000',
      SHUTDOWN_GRACE_MS: '1000',
    });
    const url = await service.url();
    await until('spans have no room', async () => {
      const answers = Array.from({ length: 20 }, () => send(url + SETS));
      expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(answers.map(() => 200));
      return (await spansOutcomes(url))['{outcome="queue_full"}']! > 0;
    });
    expect(collector.bodies).toHaveLength(1);
    service.child.kill('SIGTERM');
    expect([await service.exit(), service.stderr()]).toEqual([0, '']);
  });

  it('gives up a message that its collector answers without end, and closes its connection', async () => {
    const collector = await collect();
    let closed = 0;
    collector.answer = (response) => {
      // Data restart the timeout of an idle connection, so that one never passes.
      const beat = setInterval(() => response.write('x'), 10);
      response.on('close', () => {
        clearInterval(beat);
        closed++;
      });
    };
    const service = await start({ ...collector.settings, OTEL_EXPORTER_OTLP_TIMEOUT: '1000' });
    await send((await service.url()) + SETS);
    await until('the connection is closed', () => Promise.resolve(closed > 0));
    const line = (): unknown => linesOf(service).find(({ msg }) => String(msg).includes('takes no traces'));
    await until('it logs the loss', () => Promise.resolve(line() !== undefined));
    expect(line()).toMatchObject({ err: { message: expect.stringMatching(/time/) } });
  });

  it.each<[string, Collector['answer']]>([
    ['nonsense', (response) => response.end('\xff\xff\xff\xff')],
    ['an error', (response) => response.writeHead(400).end('no')],
    ['an endless answer', (response) => void response.write('x'.repeat(8 * 1024 * 1024))],
    ['nothing', (response) => response.socket?.destroy()],
  ])('outlives a collector that answers with %s', async (_, answer) => {
    const collector = await collect();
    collector.answer = answer;
    const service = await start({ ...collector.settings, OTEL_EXPORTER_OTLP_TIMEOUT: '100' });
    const url = await service.url();
    await until('three messages are over', async () => {
      expect((await send(url + SETS)).status).toBe(200);
      return collector.bodies.length >= 3;
    });
    service.child.kill('SIGTERM');
    expect([await service.exit(), service.stderr()]).toEqual([0, '']);
  });

  it.each([
    [{ OTEL_TRACES_SAMPLER: 'xray' }, 'OTEL_TRACES_SAMPLER is "xray"; it must be one of always_on'],
    [
      { OTEL_EXPORTER_OTLP_HEADERS: 'secret' },
      'OTEL_EXPORTER_OTLP_HEADERS is invalid (its value is not shown)',
    ],
  ])('refuses %j in one line', async (env, message) => {
    const service = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318', ...env });
    expect(await service.exit()).toBe(1);
    expect(service.stderr()).toContain(`Unseen cannot start: ${message}`);
    expect(service.stderr()).not.toContain('secret');
    expect(service.stderr().trimEnd().split('\n')).toHaveLength(1);
  });
});
