import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { load } from 'js-yaml';
import { RedisStore } from '#store/redis';
import { readConfig } from '../../src/config/config.js';
import { freePort, startRedis, type RedisServer } from '../support/redis-server.js';
import { cliProgram } from '../support/redis-cli.js';
import { until } from '../support/until.js';
import { DASHBOARD, RULES } from './alerts.js';
import { mountedFile, mountsOf, namesIn, readCompose, type Service } from './compose.js';

const run = promisify(execFile);

const file = readCompose();
const { services } = file;
const NODES = namesIn(file, 'cluster').filter((name) => /^redis-\d$/.test(name));
const init = services['cluster-init']!;
const unseen = services['unseen-cluster']!;

const yamlOf = (path: string): unknown => load(readFileSync(path, 'utf8'));

describe('the compose file', () => {
  it('publishes ports on loopback only, each once', () => {
    const ports = Object.values(services).flatMap((service) => service.ports ?? []);
    expect(ports.length).toBeGreaterThanOrEqual(4);
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:\d+:\d+$/);
    expect(new Set(ports.map((port) => port.split(':')[1])).size).toBe(ports.length);
  });

  it('pins each image to a version', () => {
    const images = Object.values(services).flatMap(({ image }) => image ?? []);
    expect(images).toHaveLength(Object.keys(services).length - 2);
    for (const image of images) expect(image).toMatch(/^[\w/]+:v?\d+\.\d+\.\d+(-bookworm)?$/);
  });

  it('names only services, volumes, networks and secrets that it has, and mounts files of the checkout', () => {
    for (const service of Object.values(services)) {
      const { depends_on = [], networks = [], secrets = [] } = service;
      const keys = (names: readonly string[] | object) =>
        Array.isArray(names) ? (names as string[]) : Object.keys(names);
      expect(Object.keys(services)).toEqual(expect.arrayContaining(keys(depends_on)));
      expect(['default', ...Object.keys(file.networks)]).toEqual(expect.arrayContaining(keys(networks)));
      expect(Object.keys(file.secrets)).toEqual(expect.arrayContaining([...secrets]));
      for (const [source] of mountsOf(service)) {
        const exists = source.startsWith('./') ? existsSync(source) : source in file.volumes;
        expect([source, exists]).toEqual([source, true]);
      }
    }
  });
});

describe('docker compose --profile monitoring', () => {
  interface PrometheusConfig {
    readonly global: { readonly scrape_interval: string };
    readonly rule_files: readonly string[];
    readonly scrape_configs: readonly [ScrapeConfig];
  }
  interface ScrapeConfig {
    readonly job_name: string;
    readonly authorization: { readonly credentials_file: string };
    readonly static_configs: readonly [{ readonly targets: readonly string[] }];
    readonly dns_sd_configs: readonly [{ readonly names: readonly string[]; readonly port: number }];
  }
  interface DataSource {
    readonly name: string;
    readonly type: string;
    readonly url: string;
    readonly isDefault: boolean;
    readonly jsonData: { readonly timeInterval: string };
  }

  const prometheus = services.prometheus!;
  const grafana = services.grafana!;
  const flag = (name: string) =>
    prometheus.command?.find((text) => text.startsWith(`--${name}=`))?.slice(name.length + 3) ?? '';
  const configPath = flag('config.file');
  const config = yamlOf(mountedFile(prometheus, configPath)) as PrometheusConfig;
  const [job] = config.scrape_configs;
  const provisioned = (path: string) =>
    yamlOf(mountedFile(grafana, join('/etc/grafana/provisioning', path))) as Record<string, unknown[]>;

  it('starts Prometheus and Grafana, beside the service', () => {
    expect(namesIn(file, 'monitoring')).toEqual(['prometheus', 'grafana']);
    expect(namesIn(file)).toEqual(['unseen', 'redis']);
    expect([prometheus.depends_on, grafana.depends_on]).toEqual([['unseen'], ['prometheus']]);
  });

  it('keeps the data of both in volumes', () => {
    expect(mountsOf(prometheus)).toContainEqual(['prometheus-data', flag('storage.tsdb.path')]);
    expect(mountsOf(grafana)).toContainEqual(['grafana-data', '/var/lib/grafana']);
  });

  it('scrapes both services by names that they accept, in networks that they share', () => {
    const [dns] = job.dns_sd_configs;
    const targets = [...job.static_configs[0].targets, ...dns.names.map((name) => `${name}:${dns.port}`)];
    expect(targets).toEqual(['unseen:3000', 'unseen-cluster:3000']);
    for (const target of targets) {
      const [name = '', port] = target.split(':');
      const { environment, networks = ['default'] } = services[name]!;
      expect(networks).toContain('default');
      const settings = readConfig({ HOST: '0.0.0.0', ...environment });
      expect([settings.auth, settings.port]).toEqual(['none', Number(port)]);
      expect(settings.allowedHosts).toContain(name);
    }
    expect(prometheus.networks).toBeUndefined();
  });

  it('loads the alerts, for the job that they name', () => {
    const rules = config.rule_files.map((name) => mountedFile(prometheus, join(dirname(configPath), name)));
    expect(rules).toEqual([RULES]);
    expect(readFileSync(RULES, 'utf8')).toContain(`job="${job.job_name}"`);
  });

  it('scrapes with a key from a file, which is empty by default', () => {
    expect(prometheus.secrets?.map((name) => `/run/secrets/${name}`)).toEqual([
      job.authorization.credentials_file,
    ]);
    expect(file.secrets).toEqual({ 'metrics-key': { file: '/dev/null' } });
  });

  it('gives Grafana the dashboard, and Prometheus as its only data source', () => {
    const [source, ...others] = provisioned('datasources/prometheus.yaml').datasources as DataSource[];
    expect(others).toEqual([]);
    const { templating } = JSON.parse(readFileSync(DASHBOARD, 'utf8')) as {
      templating: { list: { name: string; type: string; query: string }[] };
    };
    const variable = templating.list.find(({ type }) => type === 'datasource');
    expect(variable).toMatchObject({ name: 'datasource', query: source?.type });
    expect(source).toMatchObject({ url: 'http://prometheus:9090', isDefault: true });
    expect(source?.jsonData.timeInterval).toBe(config.global.scrape_interval);
    const providers = provisioned('dashboards/unseen.yaml').providers as { options: { path: string } }[];
    const folders = providers.map(({ options }) => options.path);
    expect(folders.map((path) => mountedFile(grafana, join(path, 'unseen.json')))).toEqual([DASHBOARD]);
    const home = grafana.environment?.GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH ?? '';
    expect(mountedFile(grafana, home)).toBe(DASHBOARD);
  });

  it('lets readers of Grafana look, and no one log in', () => {
    expect(grafana.environment).toMatchObject({
      GF_AUTH_ANONYMOUS_ENABLED: 'true',
      GF_AUTH_ANONYMOUS_ORG_ROLE: 'Viewer',
      GF_AUTH_DISABLE_LOGIN_FORM: 'true',
      GF_SECURITY_DISABLE_INITIAL_ADMIN_CREATION: 'true',
    });
    expect(Object.keys(grafana.environment ?? {}).filter((name) => name.includes('PASSWORD'))).toEqual([]);
  });
});

describe('docker compose --profile cluster', () => {
  it('starts six nodes, then makes the cluster, then starts the service', () => {
    expect(namesIn(file, 'cluster').sort()).toEqual(['cluster-init', ...NODES, 'unseen-cluster']);
    expect(NODES).toHaveLength(6);
    expect(Object.keys(init.depends_on ?? {}).sort()).toEqual(NODES);
    expect(unseen.depends_on).toEqual({ 'cluster-init': { condition: 'service_completed_successfully' } });
  });

  const addressOf = ({ networks = [] }: Service) =>
    'cluster' in networks ? networks.cluster.ipv4_address : undefined;

  it('gives the nodes the addresses that the others use', () => {
    const addresses = NODES.map((name) => `${addressOf(services[name]!)}:6379`);
    expect(init.environment?.NODES?.split(' ')).toEqual(addresses);
    const config = readConfig({ HOST: '0.0.0.0', ...unseen.environment });
    expect(config.redis?.clusterNodes).toEqual(addresses.slice(0, 3));
  });

  describe('with these commands', () => {
    let servers: RedisServer[];
    let addresses: string[];
    beforeAll(async () => {
      servers = await Promise.all(
        NODES.map(async (name) => {
          const [program, ...args] = services[name]!.command ?? [];
          expect(program).toBe('redis-server');
          return startRedis({ args: [...args, '--cluster-port', String(await freePort())] });
        }),
      );
      addresses = servers.map(({ port }) => `127.0.0.1:${port}`);
    });
    afterAll(() => Promise.all(servers.map((server) => server.stop())));

    /** Runs the command of cluster-init on the local nodes. */
    const initialize = () => {
      const [shell = '', ...args] = init.command ?? [];
      const env = { ...process.env, ...init.environment, NODES: addresses.join(' ') };
      return run(
        shell,
        args.map((text) => text.replaceAll('$$', '$').replaceAll('redis-cli', cliProgram())),
        { env },
      );
    };

    it('the service finds a cluster in which each master has a replica', async () => {
      expect((await initialize()).stdout).toContain('All 16384 slots covered');
      const { redis } = readConfig({
        HOST: '0.0.0.0',
        ...unseen.environment,
        REDIS_CLUSTER: addresses.slice(0, 3).join(','),
        REDIS_TIMEOUT_MS: '60000',
      });
      const store = await RedisStore.open(redis!);
      await until('each master has a replica', async () => {
        const { ready, warnings } = await store.readiness();
        return ready && !warnings.some((warning) => warning.includes('replica'));
      });
      await store.close();
    });

    it('the next start leaves the cluster as it is', async () => {
      expect((await initialize()).stdout).toBe('');
    });
  });
});
