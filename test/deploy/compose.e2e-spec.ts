import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { load, YAML11_SCHEMA } from 'js-yaml';
import { RedisStore } from '#store/redis';
import { readConfig } from '../../src/config/config.js';
import { freePort, startRedis, type RedisServer } from '../support/redis-server.js';
import { cliProgram } from '../support/redis-cli.js';
import { until } from '../support/until.js';

const run = promisify(execFile);

interface Service {
  readonly profiles?: readonly string[];
  readonly command?: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly networks?: { readonly cluster: { readonly ipv4_address: string } };
}

/** The services, with the variables' defaults and without escapes, as docker compose sees them. */
function compose(): Record<string, Service> {
  const text = readFileSync('docker-compose.yml', 'utf8').replace(/\$\{\w+:-([\w.]*)\}/g, '$1');
  const { services } = load(text, { schema: YAML11_SCHEMA }) as { services: Record<string, Service> };
  return services;
}

const services = compose();
const isNode = (name: string) => /^redis-\d$/.test(name);
const NODES = Object.keys(services).filter(isNode);
const init = services['cluster-init']!;
const unseen = services['unseen-cluster']!;

describe('docker compose --profile cluster', () => {
  it('starts six nodes, then makes the cluster, then starts the service', () => {
    const names = Object.keys(services).filter((name) => services[name]!.profiles?.includes('cluster'));
    expect(names.sort()).toEqual(['cluster-init', ...NODES, 'unseen-cluster']);
    expect(NODES).toHaveLength(6);
    expect(Object.keys(init.depends_on ?? {}).sort()).toEqual(NODES);
    expect(unseen.depends_on).toEqual({ 'cluster-init': { condition: 'service_completed_successfully' } });
  });

  it('gives the nodes the addresses that the others use', () => {
    const addresses = NODES.map((name) => `${services[name]!.networks?.cluster.ipv4_address}:6379`);
    expect(init.environment.NODES?.split(' ')).toEqual(addresses);
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
