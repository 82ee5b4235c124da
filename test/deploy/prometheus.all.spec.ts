import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { load } from 'js-yaml';
import { findPrometheus } from '../../scripts/find-prometheus.mjs';
import { call, startApp, type TestApp } from '../support/app.js';
import { makeKey } from '../support/credentials.js';
import { freePort, startRedis, type RedisServer } from '../support/redis-server.js';
import { RespClient } from '../support/resp-client.js';
import { until } from '../support/until.js';
import { alerts, panelQueries, RULE_TESTS, RULES } from './alerts.js';
import { readCompose } from './compose.js';

const run = promisify(execFile);
const CONFIG = 'deploy/prometheus/prometheus.yml';
const found = findPrometheus();
const why = found ? '' : ' (skipped: no Prometheus; npm run tools:ensure installs it)';
const describeWithPrometheus = found ? describe : describe.skip;

/** A series' labels and its value now. */
interface Sample {
  readonly value: readonly [time: number, value: string];
}

/**
 * The configuration for the profile `monitoring`, for a service on this machine. Each target of DNS is `localhost`, because
 * Prometheus asks a DNS server, not /etc/hosts.
 */
function configFor(port: number, keyFile: string): object {
  const text = readFileSync(CONFIG, 'utf8')
    .replaceAll(':3000', `:${port}`)
    .replaceAll('unseen:', '127.0.0.1:')
    .replaceAll(/(?<=_interval: )\d+s/g, '1s')
    .replaceAll('/run/secrets/metrics-key', keyFile);
  const { scrape_configs: jobs, ...others } = load(text) as {
    scrape_configs: { static_configs: object[]; dns_sd_configs: { names: string[] }[] }[];
  };
  return {
    ...others,
    scrape_configs: jobs.map(({ static_configs: fixed, dns_sd_configs: dns, ...job }) => ({
      ...job,
      static_configs: [
        ...fixed,
        ...dns.map(() => ({ targets: ['192.0.2.1:9'], labels: { __meta_dns_name: 'localhost' } })),
      ],
    })),
  };
}

/** Prometheus, as the profile `monitoring` starts it, which scrapes one service every second. */
class Prometheus {
  private constructor(
    private readonly url: string,
    private readonly keyFile: string,
    readonly stop: () => Promise<void>,
  ) {}

  static async start(target: number): Promise<Prometheus> {
    const folder = await mkdtemp(join(tmpdir(), 'unseen-prometheus-'));
    await cp(dirname(CONFIG), folder, { recursive: true });
    const keyFile = join(folder, 'metrics-key');
    await writeFile(keyFile, '');
    const config = join(folder, basename(CONFIG));
    await writeFile(config, JSON.stringify(configFor(target, keyFile)));
    const port = await freePort();
    const places: Record<string, string> = {
      'config.file': config,
      'storage.tsdb.path': join(folder, 'data'),
    };
    const flags = (readCompose().services.prometheus?.command ?? []).map((flag) =>
      flag.replace(/^--([\w.]+)=\/.*$/, (_, name: string) => `--${name}=${places[name]}`),
    );
    const child = spawn(
      found?.prometheus ?? '',
      [...flags, `--web.listen-address=127.0.0.1:${port}`, '--log.level=warn'],
      { stdio: 'ignore' },
    );
    const prometheus = new Prometheus(`http://127.0.0.1:${port}`, keyFile, async () => {
      if (child.exitCode === null) {
        child.kill('SIGKILL');
        await once(child, 'exit');
      }
      await rm(folder, { recursive: true, force: true });
    });
    await until('Prometheus is ready', async () => {
      expect(child.exitCode).toBeNull();
      return (await fetch(`${prometheus.url}/-/ready`).catch(() => undefined))?.ok === true;
    });
    return prometheus;
  }

  /** Replaces the key that it sends. */
  async useKey(key: string): Promise<void> {
    await writeFile(this.keyFile, `${key}\n`);
  }

  /** The header of a page's request that lets the page read the answer. */
  async allowedOrigin(origin: string): Promise<string | null> {
    const { headers } = await fetch(`${this.url}/api/v1/targets`, { headers: { origin } });
    return headers.get('access-control-allow-origin');
  }

  /** The numbers that a query returns now. */
  async values(expr: string): Promise<number[]> {
    const { result } = await this.get<{ result: Sample[] }>(`query?query=${encodeURIComponent(expr)}`);
    return result.map(({ value: [, value] }) => Number(value)).filter((value) => !Number.isNaN(value));
  }

  async get<T>(path: string): Promise<T> {
    const answer = await fetch(`${this.url}/api/v1/${path}`);
    const { status, error, data } = (await answer.json()) as { status: string; error?: string; data: T };
    expect([path, status, error]).toEqual([path, 'success', undefined]);
    return data;
  }
}

describeWithPrometheus(`the alerts for Prometheus${why}`, () => {
  it('are valid, and fire when they should', async () => {
    await run(found?.promtool ?? '', ['check', 'rules', RULES]);
    const { stdout } = await run(found?.promtool ?? '', ['test', 'rules', RULE_TESTS]);
    expect(stdout).toContain('SUCCESS');
  });
});

describeWithPrometheus(`Prometheus, with a service under load${why}`, () => {
  let redis: RedisServer;
  let app: TestApp;
  let resp: RespClient;
  let prometheus: Prometheus;
  let rounds = 0;
  beforeAll(async () => {
    redis = await startRedis();
    app = await startApp({ REDIS_URL: redis.url, RESP_PORT: '0', AUTH: 'none' });
    resp = await RespClient.connect(app.respPort);
    await setUp();
    prometheus = await Prometheus.start(app.port);
  });
  afterAll(async () => {
    await prometheus.stop();
    resp.destroy();
    await app.close();
    await redis.stop();
  });

  const send = async (path: string, body: object): Promise<Record<string, unknown>> => {
    const answer = await call(app, 'POST', `/v1/${path}`, body);
    expect([path, answer.status < 300]).toEqual([path, true]);
    return answer.body as Record<string, unknown>;
  };

  async function setUp(): Promise<void> {
    const crawl = { name: 'crawl', capacity: 1_000_000, perHost: { delaySeconds: 1 } };
    await send('visited-sets', crawl);
    await send('visited-sets', { name: 'frontpage', capacity: 10_000, maxAgeSeconds: 86_400 });
    await send('filters', { name: 'articles', type: 'counting', capacity: 1_000_000, errorRate: 0.01 });
    await send('filters/articles/syncs', {});
  }

  /** A little of everything. */
  async function load(): Promise<void> {
    const round = rounds++;
    const urls = Array.from({ length: 20 }, (_, n) => `https://h${n}.example/${round}`);
    await send('visited-sets/crawl/urls/discover', { urls });
    const { urls: leased } = await send('visited-sets/crawl/queue/lease', { max: 10, leaseSeconds: 600 });
    await send('visited-sets/crawl/queue/ack', { ids: (leased as { id: string }[]).map(({ id }) => id) });
    await send('visited-sets/frontpage/urls/visit', { urls });
    await send('filters/articles/items/add', { items: urls });
    await send('filters/articles/items/check', { items: urls });
    await call(app, 'GET', '/v1/filters/missing');
    await resp.pipeline(urls.map((url) => ['SADD', 'articles', `resp ${url}`]));
  }

  /** Loads the service until each query has returned a number. */
  async function untilNoneIsEmpty(queries: ReadonlyMap<string, string>): Promise<void> {
    const empty = new Map(queries);
    await until('every query has returned numbers', async () => {
      await load();
      for (const [name, expr] of empty) if ((await prometheus.values(expr)).length > 0) empty.delete(name);
      return empty.size === 0;
    }).catch((error: unknown) => {
      expect([...empty]).toEqual([]);
      throw error;
    });
  }

  it('has numbers for every query of the dashboard', async () => {
    const queries = panelQueries();
    expect(queries.length).toBeGreaterThan(40);
    await untilNoneIsEmpty(
      new Map(
        queries.map(({ panel, expr }) => [
          `${panel}: ${expr}`,
          expr
            .replaceAll('$__rate_interval', '15s')
            .replaceAll('$job', 'unseen')
            .replaceAll(/\$(?:instance|filter)/g, '.*'),
        ]),
      ),
    );
  });

  it('has numbers for every alert, apart from its limits, and evaluates them all', async () => {
    // Without their limits, all of these expressions have a value.
    const withoutLimits = (expr: string): string => expr.replaceAll(/\s(?:==|>|<) [\d.]+(?=\s|$)/g, '');
    await untilNoneIsEmpty(new Map(alerts().map(({ name, expr }) => [name, withoutLimits(expr)])));
    await until('all rules are evaluated', async () => {
      const { groups } = await prometheus.get<{ groups: { rules: { name: string; health: string }[] }[] }>(
        'rules',
      );
      const rules = groups.flatMap((group) => group.rules);
      expect(rules.map(({ name }) => name)).toEqual(alerts().map(({ name }) => name));
      return rules.every(({ health }) => health === 'ok');
    });
  });
});

describeWithPrometheus(`the profile monitoring${why}`, () => {
  let app: TestApp;
  let prometheus: Prometheus;
  beforeAll(async () => {
    app = await startApp({ AUTH: 'keys' });
    prometheus = await Prometheus.start(app.port);
  });
  afterAll(async () => {
    await prometheus.stop();
    await app.close();
  });

  const untilUp = (up: number) =>
    until(`up is ${up}`, async () => {
      const values = await prometheus.values('up{job="unseen"}');
      // One target has a fixed name, and DNS finds the other one.
      return values.length === 2 && values.every((value) => value === up);
    });

  it('has a valid configuration', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'unseen-prometheus-'));
    await cp(dirname(CONFIG), folder, { recursive: true });
    // Without this file, promtool would refuse the configuration.
    const text = readFileSync(CONFIG, 'utf8').replace('/run/secrets/metrics-key', '/dev/null');
    await writeFile(join(folder, basename(CONFIG)), text);
    const { stdout } = await run(found?.promtool ?? '', ['check', 'config', join(folder, basename(CONFIG))]);
    expect(stdout).toContain('1 rule files found');
    await rm(folder, { recursive: true });
  });

  it('scrapes a service that needs keys, once its file has one', async () => {
    await untilUp(0);
    await prometheus.useKey((await makeKey(app, 'read')).key);
    await untilUp(1);
  });

  it('scrapes the service that DNS finds by its name', async () => {
    const { activeTargets } = await prometheus.get<{ activeTargets: { labels: { instance: string } }[] }>(
      'targets',
    );
    const instances = activeTargets.map(({ labels }) => labels.instance);
    expect(instances.sort()).toEqual([`127.0.0.1:${app.port}`, `localhost:${app.port}`]);
  });

  it('keeps web pages from reading the metrics', async () => {
    expect(await prometheus.allowedOrigin('https://stranger.example')).toBeNull();
    expect(await prometheus.allowedOrigin('null')).toBeNull();
    expect(await prometheus.allowedOrigin('http://127.0.0.1:9090')).toBe('http://127.0.0.1:9090');
  });
});
