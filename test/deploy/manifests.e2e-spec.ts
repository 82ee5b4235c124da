import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { LOG_LEVELS, readConfig } from '../../src/config/config.js';
import { call, startApp } from '../support/app.js';
import { startProcess } from '../support/service-process.js';
import { settingsRead } from '../support/settings.js';
import { statusOf } from '../support/status-of.js';
import {
  CHART,
  committed,
  containerOf,
  environmentOf,
  EXAMPLES,
  POD_IP,
  SCHEMA,
  workloadOf,
  type Container,
  type Manifest,
} from './manifests.js';

const SECRETS = {
  'unseen-redis/url': 'redis://:secret@redis:6379',
  'unseen-redis/password': 'secret',
  'unseen-redis/sentinel-password': 'another secret',
  'unseen-traces/headers': 'authorization=Bearer%20secret',
};
/** From the end of SHUTDOWN_GRACE_MS to the end of all connections. See docs/operations.md. */
const LAST_LINES_MS = 500;
/** Node.js refuses to open other files for writing. Its flag has another name in Node.js 20. */
const PERMISSION = process.allowedNodeEnvironmentFlags.has('--permission')
  ? '--permission --allow-addons'
  : '--experimental-permission --allow-addons';

const envOf = (name: string) => environmentOf(containerOf(name), SECRETS);

/** With these, the service reads all numbers. With the smallest body, bodies need the least room. */
const ALL_READ = {
  STORE: 'redis',
  MAX_BODY_BYTES: '1024',
  OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318',
};

describe('the settings in the chart', () => {
  const { properties } = SCHEMA;
  const template = readFileSync(join(CHART, 'templates', '_environment.tpl'), 'utf8');
  /** Variables that the template names, in an entry or in a `dict` of entries. */
  const typed = [...template.matchAll(/- name: ([A-Z_]+)$|"([A-Z][A-Z_]+)" \$/gm)].map(
    ([, entry, member]) => entry ?? member,
  );

  it('are those of the service, each in one place', () => {
    expect(typed).toContain('REDIS_TLS_CA');
    const places = [
      ...typed.filter((name) => name !== 'POD_IP'),
      ...Object.keys(properties.settings.properties),
    ];
    expect(places.sort()).toEqual(settingsRead());
  });

  it('can’t be set as extraEnv, too', () => {
    const { enum: names } = properties.extraEnv.items.properties.name.not;
    // The template sets POD_IP for ALLOWED_HOSTS.
    expect([...names].sort()).toEqual([...settingsRead(), 'POD_IP'].sort());
  });

  it('have the limits of the service', () => {
    const { settings: schema } = properties;
    const numbers = Object.entries(schema.properties).filter(([, { type }]) => type === 'integer');
    expect(numbers.length).toBeGreaterThan(15);
    for (const [name, { minimum, maximum }] of numbers) {
      const env = { ...ALL_READ, [name]: 'no number' };
      const limits = `must be a whole number from ${minimum} to ${maximum}`;
      expect(() => readConfig(env)).toThrow(`${name} is "no number"; it ${limits}`);
    }
    expect(schema.properties.LOG_LEVEL?.enum).toEqual(LOG_LEVELS);
    const { minimum, maximum } = properties.shutdown!.properties!.graceMs!;
    expect(() => readConfig({ SHUTDOWN_GRACE_MS: 'x' })).toThrow(`from ${minimum} to ${maximum}`);
  });

  it('have the service’s default for the largest body', () => {
    const [, bytes] = /int64 \(default (\d+) \.MAX_BODY_BYTES\)/.exec(template) ?? [];
    expect(Number(bytes)).toBe(readConfig({}).maxBodyBytes);
  });
});

describe.each(EXAMPLES)('the manifests of the example $name', ({ name }) => {
  it('give the service settings that it accepts', () => {
    const config = readConfig(envOf(name));
    const { kind } = workloadOf(name);
    expect(config).toMatchObject({
      host: '0.0.0.0',
      auth: name === 'open' ? 'none' : 'keys',
      store: kind === 'StatefulSet' ? 'embedded' : 'redis',
    });
    const ports = containerOf(name).ports.map((port) => [port.name, port.containerPort]);
    const resp = config.respPort === undefined ? [] : [['resp', config.respPort]];
    expect(ports).toEqual([['http', config.port], ...resp]);
  });

  it('leave the service time to drain and to stop', () => {
    const { terminationGracePeriodSeconds } = workloadOf(name).spec.template.spec;
    const [program, seconds] = containerOf(name).lifecycle.preStop.exec.command;
    expect(program).toBe('sleep');
    const busy = 1_000 * Number(seconds) + readConfig(envOf(name)).shutdownGraceMs + LAST_LINES_MS;
    expect(1_000 * terminationGracePeriodSeconds).toBeGreaterThan(busy);
  });

  it('stop an old pod only when a new one is ready, unless two pods would open one embedded store', () => {
    const { kind, spec } = workloadOf(name);
    const surge = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } };
    expect(spec.strategy).toEqual(kind === 'Deployment' ? surge : undefined);
  });

  it('have a read-only root, and no variables of other Services', () => {
    expect(containerOf(name).securityContext.readOnlyRootFilesystem).toBe(true);
    expect(workloadOf(name).spec.template.spec.enableServiceLinks).toBe(false);
  });
});

describe('the probes', () => {
  const paths = ({ startupProbe, livenessProbe, readinessProbe }: Container) =>
    [startupProbe, livenessProbe, readinessProbe].map(({ httpGet }) => httpGet.path);

  it('restart a service that hangs, and not one whose store is unavailable', async () => {
    // No Redis server listens on this port.
    const app = await startApp({ AUTH: 'keys', REDIS_URL: 'redis://127.0.0.1:1', REDIS_TIMEOUT_MS: '1000' });
    const statuses = paths(containerOf('redis')).map((path) => statusOf(app.url + path));
    expect(await Promise.all(statuses)).toEqual([200, 200, 503]);
    await app.close();
  });

  it('are the same in all examples', () => {
    for (const { name } of EXAMPLES) expect(paths(containerOf(name))).toEqual(paths(containerOf('redis')));
  });
});

describe('the manifests of the embedded store', () => {
  const { kind, spec } = workloadOf('embedded');

  it('start one pod at a time, with the data on its volume', () => {
    expect([kind, spec.replicas]).toEqual(['StatefulSet', 1]);
    const [mount] = containerOf('embedded').volumeMounts ?? [];
    expect(mount).toEqual({ name: 'data', mountPath: '/data' });
    expect(envOf('embedded').DATA_DIR).toMatch(/^\/data\/./);
  });

  it('refuse to start a second store after kubectl scale', () => {
    const [{ command } = { command: [] }] = spec.template.spec.initContainers ?? [];
    const [shell = '', ...args] = command;
    const start = (POD_NAME: string) => spawnSync(shell, args, { env: { POD_NAME }, encoding: 'utf8' });
    expect(start('my-unseen-0')).toMatchObject({ status: 0, stderr: '' });
    for (const ordinal of ['1', '10', '00'])
      expect(start(`my-unseen-${ordinal}`)).toMatchObject({
        status: 1,
        stderr: 'Only one pod may have the embedded store. Scale the StatefulSet my-unseen to 1.\n',
      });
  });

  it('send requests only to the pod with the store', () => {
    const selectorOf = (name: string) => {
      const service = committed(name).find((manifest) => manifest.kind === 'Service');
      return (service as Manifest & { spec: { selector: Record<string, string> } }).spec.selector;
    };
    expect(selectorOf('embedded')['statefulset.kubernetes.io/pod-name']).toBe('unseen-0');
    expect(Object.keys(selectorOf('redis'))).toHaveLength(2);
  });

  it('need no writable folder but DATA_DIR', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'unseen-writable-'));
    const DATA_DIR = join(folder, 'data');
    const startWith = (writable: string) =>
      startProcess({
        DATA_DIR,
        NODE_OPTIONS: `${PERMISSION} --allow-fs-read=* --allow-fs-write=${writable}`,
      });
    const refused = await startWith(join(folder, 'other'));
    expect(await refused.exit()).toBe(1);
    const service = await startWith(`${DATA_DIR}*`);
    const url = await service.url();
    expect(await statusOf(`${url}/readyz`)).toBe(200);
    const body = JSON.stringify({ name: 'crawl', capacity: 1_000 });
    const headers = { 'content-type': 'application/json' };
    expect(await statusOf(`${url}/v1/visited-sets`, { method: 'POST', headers, body })).toBe(201);
    service.child.kill('SIGTERM');
    expect(await service.exit()).toBe(0);
    for (const { clean } of [refused, service]) await clean();
    await rm(folder, { recursive: true });
  });
});

describe('the hosts in the manifests', () => {
  it.each([
    ['without keys', 'open', { AUTH: 'none' }],
    ['with keys and ALLOWED_HOSTS', 'cluster', { AUTH: 'keys' }],
  ])('%s: include those of probes, scrapes and clients, and no others', async (_, name, { AUTH }) => {
    const { ALLOWED_HOSTS = '', HOST = '' } = envOf(name);
    expect(HOST).toBe('0.0.0.0');
    const app = await startApp({ AUTH, HOST, ALLOWED_HOSTS });
    const isAdmitted = async (host: string) =>
      (await call(app, 'GET', '/readyz', undefined, { host: `${host}:3000` })).status;
    const clients = ['unseen', 'unseen.crawl', 'unseen.crawl.svc', 'unseen.crawl.svc.cluster.local'];
    for (const host of [POD_IP, ...clients]) expect([host, await isAdmitted(host)]).toEqual([host, 200]);
    for (const host of ['10.0.0.8', 'stranger.example'])
      expect([host, await isAdmitted(host)]).toEqual([host, 403]);
    await app.close();
  });
});
