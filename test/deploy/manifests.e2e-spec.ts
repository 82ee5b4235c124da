import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { readConfig } from '../../src/config/config.js';
import { call, startApp } from '../support/app.js';
import { startProcess } from '../support/service-process.js';
import { settingsRead } from '../support/settings.js';
import { statusOf } from '../support/status-of.js';
import {
  CHART,
  containerOf,
  environmentOf,
  EXAMPLES,
  POD_IP,
  workloadOf,
  type Container,
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

describe('the settings in the chart', () => {
  interface Schema {
    readonly properties: {
      readonly settings: { readonly properties: object };
      readonly extraEnv: {
        readonly items: {
          readonly properties: { readonly name: { readonly not: { readonly enum: string[] } } };
        };
      };
    };
  }
  const { properties } = JSON.parse(readFileSync(join(CHART, 'values.schema.json'), 'utf8')) as Schema;
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
    expect(properties.extraEnv.items.properties.name.not.enum.sort()).toEqual(settingsRead());
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
