import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { load } from 'js-yaml';
import { findHelm } from '../../scripts/find-helm.mjs';
import { DASHBOARD, RULES } from './alerts.js';
import {
  CHART,
  committed,
  EXAMPLES,
  manifestsIn,
  optionalValues,
  type Manifest,
  type Workload,
} from './manifests.js';

const run = promisify(execFile);

const { folder, installed, path: helm, version } = findHelm();
const isFound = installed && version !== undefined;
const describeFound = isFound ? describe : describe.skip;
const why = isFound ? '' : ' (skipped: no Helm; npm run tools:ensure -- helm installs it)';

const TSC = resolve('node_modules', '@typescript', 'native', 'bin', 'tsc');
const TYPES = '--ignoreConfig --noEmit --strict --skipLibCheck --module nodenext --target es2023'.split(' ');

/** The manifests that Helm renders for a release. Throws with Helm's message if it refuses the values. */
async function renderAs(release: string, values: string, ...args: string[]): Promise<string> {
  const options = ['--namespace', 'crawl', '-f', values, ...args];
  const outcome = await run(helm, ['template', release, CHART, ...options]).catch((error: unknown) => {
    throw new Error((error as { stderr: string }).stderr);
  });
  return outcome.stdout;
}

const render = (values: string, ...args: string[]) => renderAs('unseen', values, ...args);

/** All objects for monitoring, beside the ServiceMonitor of the example `cluster`. */
const MONITORED = ['prometheusRule.enabled=true', 'dashboard.enabled=true'];

const valuesOf = (name: string) => EXAMPLES.find((example) => example.name === name)!.values;

/** The package with the types of an API group. */
function packageOf(apiVersion: string): string {
  const [group] = apiVersion.split('/');
  const packages: Record<string, string> = {
    'keda.sh': '@kubernetes-models/keda',
    'monitoring.coreos.com': '@kubernetes-models/prometheus-operator',
  };
  return `${packages[group ?? ''] ?? 'kubernetes-models'}/${apiVersion}`;
}

/** A program that validates manifests. Its types refuse fields that the API does not have. */
function validator(manifests: readonly Manifest[]): string {
  const lines = manifests.map(({ apiVersion, kind, ...rest }, i) => [
    `import { ${kind} as Kind${i} } from '${packageOf(apiVersion)}';`,
    `new Kind${i}(${JSON.stringify(rest, null, 1)}).validate();`,
  ]);
  return lines.flat().join('\n');
}

describeFound(`the chart${why}`, () => {
  let programs: string;
  beforeAll(async () => {
    // Programs find the packages from a folder below them.
    const cache = join(folder, 'node_modules', '.cache');
    await mkdir(cache, { recursive: true });
    programs = await mkdtemp(join(cache, 'manifests-'));
  });
  afterAll(() => rm(programs, { recursive: true, force: true }));

  /** Validates manifests by the types and the schemas of Kubernetes' API. Returns the errors. */
  async function errorsIn(name: string, manifests: readonly Manifest[]): Promise<string> {
    const program = join(programs, `${name}.mts`);
    const text = validator(manifests);
    await writeFile(program, text);
    await writeFile(join(programs, `${name}.mjs`), text);
    const outcomes = [
      run(process.execPath, [TSC, ...TYPES, program]),
      run(process.execPath, [join(programs, `${name}.mjs`)]),
    ].map((outcome) =>
      outcome.then(
        () => '',
        (error: unknown) => (error as { stdout: string; stderr: string }).stdout + (error as Error).message,
      ),
    );
    return (await Promise.all(outcomes)).join('');
  }

  describe.each(EXAMPLES)('with the values of the example $name', ({ name, values, rendered }) => {
    it('renders the committed manifests', async () => {
      const text = await render(values);
      if (process.env.UPDATE_MANIFESTS === '1') await writeFile(rendered, text);
      expect(text).toBe(readFileSync(rendered, 'utf8'));
    });

    it('renders manifests that Kubernetes’ API accepts', async () => {
      expect(await errorsIn(name, committed(name))).toBe('');
    });

    it('passes helm lint', async () => {
      await run(helm, ['lint', '--strict', CHART, '-f', values]);
    });
  });

  it('comes with a KEDA example that KEDA’s API accepts', async () => {
    const text = readFileSync(join('deploy', 'keda', 'crawl-workers.yaml'), 'utf8');
    expect(await errorsIn('keda', manifestsIn(text))).toBe('');
  });

  it('is checked for unknown fields, wrong types and missing fields', async () => {
    const budget = committed('redis').find(({ kind }) => kind === 'PodDisruptionBudget')!;
    const { spec } = budget as Manifest & { spec: object };
    expect(await errorsIn('unknown', [{ ...budget, ...{ spec: { ...spec, minAvailible: 1 } } }])).toContain(
      `'"minAvailible"' does not exist`,
    );
    expect(await errorsIn('wrong', [{ ...budget, ...{ spec: { ...spec, selector: 'all' } } }])).toContain(
      'data/spec/selector must be object',
    );
    const ingress = committed('cluster').find(({ kind }) => kind === 'Ingress')!;
    expect(await errorsIn('missing', [{ ...ingress, ...{ spec: { rules: [{ http: {} }] } } }])).toContain(
      'must have required property paths',
    );
  });

  const set = (...pairs: string[]) => pairs.flatMap((pair) => ['--set-json', pair]);

  it.each<[string, string, string[], RegExp]>([
    ['no image', 'redis', set('image.repository=""'), /image\/repository/],
    ['an unknown name', 'redis', set('replicaCount=3'), /replicaCount/],
    ['two embedded pods', 'embedded', set('replicas=2'), /replicas/],
    ['an embedded store with a Redis URL', 'embedded', set('redis.url="redis://h"'), /redis\/url/],
    [
      'an embedded store with a setting of Redis',
      'embedded',
      set('settings.REDIS_TIMEOUT_MS=1000'),
      /REDIS_TIMEOUT_MS/,
    ],
    [
      'a setting of the embedded store with Redis',
      'redis',
      set('settings.EMBEDDED_FSYNC=true'),
      /EMBEDDED_FSYNC/,
    ],
    ['maintenance with Redis', 'redis', set('maintenance=true'), /maintenance/],
    ['Redis without an address', 'redis', set('redis.existingSecret=""'), /redis/],
    ['a Redis URL and a Secret with another', 'redis', set('redis.url="redis://h"'), /redis/],
    ['a password in a Redis URL', 'open', set('redis.url="redis://:secret@h"'), /redis\/url/],
    ['Redis and Sentinels', 'open', set('redis.sentinel.nodes=["a:1"]'), /redis\/sentinel\/nodes/],
    ['Redis and a cluster', 'open', set('redis.cluster=["a:1"]'), /redis\/cluster/],
    ['Sentinels and a cluster', 'sentinel', set('redis.cluster=["a:1"]'), /redis\/cluster/],
    ['Sentinels without a master', 'sentinel', set('redis.sentinel.master=""'), /redis\/sentinel\/master/],
    ['a cluster without nodes', 'cluster', set('redis.cluster=[]'), /redis\/cluster/],
    ['a node without a port', 'cluster', set('redis.cluster=["a"]'), /redis\/cluster/],
    ['a Redis user without a password', 'cluster', set('redis.existingSecret=""'), /redis\/existingSecret/],
    ['TLS files with a URL that does not encrypt', 'open', set('redis.tls.enabled=true'), /redis\/url/],
    ['TLS files without TLS', 'cluster', set('redis.tls.enabled=false'), /redis\/tls\/existingSecret/],
    ['a certificate without its key', 'cluster', set('redis.tls.keyKey=""'), /redis\/tls\/keyKey/],
    ['another way to admit callers', 'redis', set('auth.mode="open"'), /auth\/mode/],
    [
      'an Ingress to a service without keys',
      'open',
      set('ingress.enabled=true', 'ingress.hosts=["a"]'),
      /ingress\/enabled/,
    ],
    ['a public Service without keys', 'open', set('service.type="LoadBalancer"'), /service\/type/],
    ['an issuer without an audience', 'sentinel', set('auth.oidc.audience=""'), /auth\/oidc\/audience/],
    ['tokens for a service without keys', 'sentinel', set('auth.mode="none"'), /auth\/oidc\/issuer/],
    [
      'scrapes without a key',
      'cluster',
      set('serviceMonitor.keySecret.name=""'),
      /serviceMonitor\/keySecret\/name/,
    ],
    ['an unknown setting', 'redis', set('settings.MAX_BATCH=1'), /MAX_BATCH/],
    [
      'a setting of the chart as extraEnv',
      'redis',
      set('extraEnv=[{"name":"AUTH","value":"none"}]'),
      /extraEnv/,
    ],
    ['a number as text', 'redis', set('settings.MAX_BATCH_ITEMS="1000"'), /MAX_BATCH_ITEMS/],
    ['an empty setting', 'redis', set('settings.MAX_BATCH_ITEMS=""'), /MAX_BATCH_ITEMS/],
    ['a setting below its limit', 'redis', set('settings.MAX_BATCH_ITEMS=0'), /MAX_BATCH_ITEMS/],
    ['a setting above its limit', 'redis', set('settings.SYNC_IDLE_SECONDS=31536001'), /SYNC_IDLE_SECONDS/],
    [
      'a share that Helm would write with an exponent',
      'redis',
      set('settings.SYNC_MAX_FORGET_SHARE=0.0000001'),
      /SYNC_MAX_FORGET_SHARE/,
    ],
    [
      'less room for bodies than one body may take',
      'redis',
      set('settings.MAX_BYTES_IN_FLIGHT=5000000', 'settings.MAX_BODY_BYTES=5000001'),
      /MAX_BYTES_IN_FLIGHT is less than MAX_BODY_BYTES, which is 5000001/,
    ],
    [
      'less room for bodies than one body may take by default',
      'redis',
      set('settings.MAX_BYTES_IN_FLIGHT=4194303'),
      /MAX_BYTES_IN_FLIGHT is less than MAX_BODY_BYTES, which is 4194304/,
    ],
    ['no section for Redis', 'redis', set('redis=null'), /redis/],
    ['no time to stop', 'redis', set('shutdown=null'), /shutdown/],
    ['no failures of the startup probe', 'redis', set('probes.startupFailures=null'), /startupFailures/],
    [
      'no scrapers in a NetworkPolicy, which would admit everyone',
      'cluster',
      set('networkPolicy.scrapers=null'),
      /scrapers/,
    ],
    [
      'a label of the chart as pod label',
      'redis',
      set('podLabels={"app.kubernetes.io/name":"other"}'),
      /podLabels\/app/,
    ],
    ['a label that is no text', 'redis', set('podLabels={"stage":1}'), /podLabels\/stage/],
    ['a label with a space', 'redis', set('podLabels={"stage":"a b"}'), /podLabels\/stage/],
    [
      'a label of the chart for the ServiceMonitor',
      'cluster',
      set('serviceMonitor.labels={"helm.sh/chart":"other"}'),
      /serviceMonitor\/labels/,
    ],
    ['an annotation that is no text', 'redis', set('podAnnotations={"a":true}'), /podAnnotations\/a/],
    ['a node label that is no text', 'redis', set('nodeSelector={"gpu":true}'), /nodeSelector\/gpu/],
    ['a variable that is no text', 'redis', set('extraEnv=[{"name":"A","value":1}]'), /extraEnv\/0\/value/],
    ['a name with a dot', 'redis', set('fullnameOverride="a.b"'), /fullnameOverride/],
    ['a name in upper case', 'redis', set('nameOverride="Unseen"'), /nameOverride/],
    ['a name that is too long', 'redis', set(`fullnameOverride="${'a'.repeat(53)}"`), /fullnameOverride/],
    ['a Secret with an impossible name', 'redis', set('redis.existingSecret="a_b"'), /existingSecret/],
    ['an image with two tags', 'redis', set('image.repository="unseen:1"'), /image\/repository/],
    ['a tag that is a number', 'redis', set('image.tag=1.10'), /image\/tag/],
    ['a host with a wildcard', 'cluster', set('ingress.hosts=["*.example"]'), /ingress\/hosts/],
    ['a host with a port', 'cluster', set('ingress.hosts=["a.example:80"]'), /ingress\/hosts/],
    ['all origins', 'redis', set('auth.corsOrigins=["*"]'), /corsOrigins/],
    ['an issuer without TLS', 'sentinel', set('auth.oidc.issuer="http://issuer.example"'), /issuer/],
    ['an interval without a unit', 'cluster', set('serviceMonitor.interval="30"'), /interval/],
    [
      'one port for both protocols',
      'cluster',
      set('service.respPort=3000'),
      /service.port and service.respPort are both 3000/,
    ],
    ['a port of Redis that does not exist', 'open', set('redis.url="redis://redis:65536"'), /redis\/url/],
    ['a port of a node that does not exist', 'cluster', set('redis.cluster=["a:99999"]'), /redis\/cluster/],
    ['a port 0', 'sentinel', set('redis.sentinel.nodes=["a:0"]'), /redis\/sentinel\/nodes/],
    ['all hosts', 'redis', set('auth.allowedHosts=["*"]'), /allowedHosts/],
    [
      'a number that Helm would write with an exponent',
      'redis',
      set('podDisruptionBudget.maxUnavailable=10000000'),
      /maxUnavailable/,
    ],
    [
      'a variable with two values',
      'redis',
      set('extraEnv=[{"name":"A","value":"1","valueFrom":{}}]'),
      /extraEnv\/0/,
    ],
    [
      'a variable twice, which a server-side apply refuses',
      'redis',
      set('extraEnv=[{"name":"A","value":"1"},{"name":"A","value":"2"}]'),
      /extraEnv has a variable twice/,
    ],
    ['a Secret for images without a name', 'redis', set('imagePullSecrets=[{}]'), /imagePullSecrets\/0/],
    ['an empty peer', 'cluster', set('networkPolicy.clients=[{}]'), /clients\/0/],
    ['an empty volume', 'embedded', set('persistence.size="0Gi"'), /persistence\/size/],
    ['a size in an unknown unit', 'embedded', set('persistence.size="10K"'), /persistence\/size/],
    ['a label with two slashes', 'redis', set('podLabels={"a/b/c":"d"}'), /podLabels/],
    ['an annotation with a space', 'redis', set('podAnnotations={"a b":"c"}'), /podAnnotations/],
    ['scrapes without an interval', 'cluster', set('serviceMonitor.interval="0s"'), /interval/],
    [
      'scrapes that come too late for slow reads',
      'cluster',
      set('serviceMonitor.interval="121s"'),
      /interval/,
    ],
    ['alerts without scrapes', 'redis', set('prometheusRule.enabled=true'), /serviceMonitor\/enabled/],
  ])('refuses %s', async (_, name, args, message) => {
    await expect(render(valuesOf(name), ...args)).rejects.toThrow(message);
  });

  it('refuses a release whose name begins with a digit, unless it gets another name', async () => {
    await expect(renderAs('2nd', valuesOf('redis'))).rejects.toThrow(/"2nd-unseen": set fullnameOverride/);
    await renderAs('2nd', valuesOf('redis'), ...set('fullnameOverride="second"'));
  });

  describe('renders odd values that have a meaning', () => {
    const rendered: Manifest[] = [];
    /** The manifests, with the release's labels and names that Kubernetes accepts. */
    const odd = async (release: string, name: string, ...pairs: string[]) => {
      const manifests = manifestsIn(await renderAs(release, valuesOf(name), ...set(...pairs))) as Named[];
      for (const { metadata } of manifests) {
        expect(metadata.name).toMatch(/^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/);
        expect(metadata.labels['app.kubernetes.io/instance']).toBe(release);
      }
      rendered.push(...manifests);
      return manifests;
    };
    interface Named extends Manifest {
      readonly metadata: { readonly name: string; readonly labels: Record<string, unknown> };
    }
    const containerIn = (manifests: readonly Manifest[]) =>
      (manifests.find(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet') as Workload).spec
        .template.spec.containers[0];

    it.each([
      ['my.app', 'my-app-unseen'],
      ['true', 'true-unseen'],
      ['a'.repeat(53), 'a'.repeat(52)],
      [`${'a'.repeat(50)}-b`, `${'a'.repeat(50)}-b`],
      [`${'a'.repeat(51)}-b`, 'a'.repeat(51)],
    ])('the release %s gets the name %s', async (release, name) => {
      const names = (await odd(release, 'embedded')).map(({ metadata }) => metadata.name);
      expect(new Set(names)).toEqual(new Set([name]));
    });

    it('names that YAML reads as other types', async () => {
      const manifests = await odd(
        'unseen',
        'redis',
        ...['fullnameOverride="null"', 'nameOverride="123"', 'redis.existingSecret="1e3"'],
        ...['serviceAccount.name="true"', 'priorityClassName="yes"', 'image.tag="1.10"'],
        ...['podLabels={"on":"off"}', 'settings.LOG_LEVEL="warn"', 'redis.secretKeys.url="1"'],
      );
      const [secret] = containerIn(manifests).env.flatMap(({ valueFrom }) => valueFrom?.secretKeyRef ?? []);
      expect(secret).toEqual({ name: '1e3', key: '1' });
      expect(new Set(manifests.map(({ metadata }) => metadata.name))).toEqual(new Set(['null']));
    });

    it('null, for values that have no default of their own', async () => {
      const nothing = ['resources', 'podSecurityContext', 'securityContext', 'podAnnotations', 'podLabels']
        .concat(['nodeSelector', 'tolerations', 'affinity', 'topologySpreadConstraints', 'imagePullSecrets'])
        .concat([
          'settings',
          'extraEnv',
          'service.annotations',
          'ingress.annotations',
          'serviceMonitor.labels',
        ])
        .concat(['networkPolicy.clients', 'networkPolicy.extraEgress', 'prometheusRule.labels'])
        .concat(['dashboard.labels', 'dashboard.annotations']);
      expect(nothing.sort()).toEqual(optionalValues().sort());
      const pairs = nothing.map((path) => `${path}=null`);
      const manifests = await odd('unseen', 'cluster', ...pairs, ...MONITORED);
      expect(containerIn(manifests)).not.toHaveProperty('resources');
      expect(JSON.stringify(manifests)).not.toContain(':null');
    });

    it('the largest settings', async () => {
      const manifests = await odd('unseen', 'redis', `settings.MAX_STREAM_BYTES=${Number.MAX_SAFE_INTEGER}`);
      expect(containerIn(manifests).env).toContainEqual({
        name: 'MAX_STREAM_BYTES',
        value: String(Number.MAX_SAFE_INTEGER),
      });
    });

    it('so that Kubernetes’ API accepts them', async () => {
      expect(rendered.length).toBeGreaterThan(20);
      expect(await errorsIn('odd', rendered)).toBe('');
    });
  });

  it('has the alerts for the job of its ServiceMonitor, and the dashboard for Grafana', async () => {
    const manifests = manifestsIn(await renderAs('my.app', valuesOf('cluster'), ...set(...MONITORED)));
    const named = (kind: string) => manifests.find((manifest) => manifest.kind === kind) as unknown;
    const job = 'crawl/my-app-unseen';
    expect(named('ServiceMonitor')).toMatchObject({
      spec: { endpoints: [{ relabelings: [{ targetLabel: 'job', replacement: job }] }] },
    });
    const rules = readFileSync(RULES, 'utf8').replaceAll('job="unseen"', `job="${job}"`);
    expect(rules).toContain(`up{job="${job}"}`);
    expect(named('PrometheusRule')).toMatchObject({ spec: load(rules) as object });
    expect(named('ConfigMap')).toMatchObject({
      metadata: { name: 'my-app-unseen-dashboard', labels: { grafana_dashboard: '1' } },
      data: { 'unseen.json': readFileSync(DASHBOARD, 'utf8') },
    });
    expect(await errorsIn('monitored', manifests)).toBe('');
  });

  it('renders as docs/kubernetes.md installs and upgrades it', async () => {
    const page = readFileSync(join('docs', 'kubernetes.md'), 'utf8');
    const commands = page.match(/^helm (?:install|upgrade) (?:.*\\\n)*.*$/gm) ?? [];
    expect(commands.length).toBeGreaterThan(3);
    for (const command of commands) {
      // Only the embedded store has maintenance.
      const values = valuesOf(command.includes('maintenance') ? 'embedded' : 'redis');
      const here = command.replace(/^helm \w+/, `"${helm}" template`).replace('values.yaml', values);
      await run('bash', ['-c', here]);
    }
  });

  it('asks for keys unless the values say otherwise', async () => {
    const args = set('image.repository="unseen"', 'redis.url="redis://redis"');
    const text = await render(join(CHART, 'values.yaml'), ...args);
    expect(text).toMatch(/name: AUTH\n\s+value: keys\n/);
  });

  it('has no budget that would block the drain of a node with the only pod', async () => {
    const kinds = async (replicas: number) =>
      manifestsIn(await render(valuesOf('redis'), ...set(`replicas=${replicas}`))).map(({ kind }) => kind);
    expect(await kinds(2)).toContain('PodDisruptionBudget');
    expect(await kinds(1)).not.toContain('PodDisruptionBudget');
  });

  it('keeps the volume, and not the service, in maintenance', async () => {
    const text = await render(valuesOf('embedded'), ...set('maintenance=true'));
    expect(text).toContain('mountPath: /data\n');
    expect(text).toContain('sleep infinity');
    expect(text).not.toContain('livenessProbe');
    expect(await errorsIn('maintenance', manifestsIn(text))).toBe('');
  });

  it('renders IPv6 addresses, an existing claim and a Redis port that a NetworkPolicy admits', async () => {
    const ipv6 = await render(
      valuesOf('open'),
      ...set('ipFamily="IPv6"', 'redis.url="redis://redis:7001/0"'),
    );
    expect(ipv6).toContain('value: "::"');
    expect(ipv6).toContain('value: "[$(POD_IP)],unseen,');
    expect(ipv6).toContain('- port: 7001\n');
    const claimed = await render(valuesOf('embedded'), ...set('persistence.existingClaim="old"'));
    expect(claimed).toContain('claimName: "old"');
    expect(claimed).not.toContain('volumeClaimTemplates');
    for (const [name, text] of Object.entries({ ipv6, claimed })) {
      expect(await errorsIn(name, manifestsIn(text))).toBe('');
    }
  });
});
