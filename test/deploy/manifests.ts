import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadAll } from 'js-yaml';

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
}

interface Variable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: { readonly secretKeyRef?: { readonly name: string; readonly key: string } };
}

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}

export interface Container {
  readonly env: readonly Variable[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly startupProbe: Probe;
  readonly livenessProbe: Probe;
  readonly readinessProbe: Probe;
  readonly lifecycle: { readonly preStop: { readonly exec: { readonly command: readonly string[] } } };
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
  readonly securityContext: { readonly readOnlyRootFilesystem: boolean };
}

/** A Deployment or a StatefulSet. */
export interface Workload extends Manifest {
  readonly spec: {
    readonly replicas: number;
    readonly strategy?: object;
    readonly template: {
      readonly spec: {
        readonly containers: readonly [Container];
        readonly initContainers?: readonly [{ readonly command: readonly string[] }];
        readonly terminationGracePeriodSeconds: number;
        readonly enableServiceLinks: boolean;
      };
    };
  };
}

const HELM = join('deploy', 'helm');
export const CHART = join(HELM, 'unseen');

/** Files with values, and the manifests that Helm renders from them. */
export const EXAMPLES = readdirSync(join(HELM, 'examples')).map((file) => ({
  name: file.replace('.yaml', ''),
  values: join(HELM, 'examples', file),
  rendered: join(HELM, 'rendered', file),
}));

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly type?: string;
}

/** The schema of the chart's values. */
export interface ValuesSchema {
  readonly properties: Readonly<Record<string, Schema>> & {
    readonly settings: { readonly properties: Readonly<Record<string, Schema>> };
    readonly extraEnv: {
      readonly items: {
        readonly properties: { readonly name: { readonly not: { readonly enum: readonly string[] } } };
      };
    };
  };
}

export const SCHEMA = JSON.parse(readFileSync(join(CHART, 'values.schema.json'), 'utf8')) as ValuesSchema;

/** The paths of the values that may be null. Other Helm charts may set `global`. */
export function optionalValues({ properties = {}, required = [] }: Schema = SCHEMA, path = ''): string[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const own = required.includes(name) || path + name === 'global' ? [] : [path + name];
    return path + name === 'settings' ? own : [...own, ...optionalValues(schema, `${path}${name}.`)];
  });
}

export function manifestsIn(text: string): Manifest[] {
  return loadAll(text) as Manifest[];
}

/** The committed manifests of an example. */
export function committed(name: string): Manifest[] {
  return manifestsIn(readFileSync(join(HELM, 'rendered', `${name}.yaml`), 'utf8'));
}

/** An example's Deployment or StatefulSet. */
export function workloadOf(name: string): Workload {
  const found = committed(name).filter(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet');
  if (found.length !== 1) throw new Error(`${name} has ${found.length} workloads`);
  return found[0] as Workload;
}

/** An example's container. */
export function containerOf(name: string): Container {
  return workloadOf(name).spec.template.spec.containers[0];
}

/** The address that the tests give to a pod. */
export const POD_IP = '10.0.0.7';

/** A container's environment as in a pod: with its address, the values of secrets, and certificates. */
export function environmentOf(
  { env }: Container,
  secrets: Readonly<Record<string, string>>,
): Record<string, string> {
  const pem: Record<string, string> = {
    'ca.crt': 'ca.pem',
    'tls.crt': 'client.pem',
    'tls.key': 'client.key',
  };
  return Object.fromEntries(
    env.map(({ name, value, valueFrom }) => {
      const secret = valueFrom?.secretKeyRef;
      const text = secret ? secrets[`${secret.name}/${secret.key}`] : (value ?? POD_IP);
      if (text === undefined) throw new Error(`no value for ${name}`);
      const mounted = text.replace(/^\/etc\/unseen\/redis-tls\/(.*)$/, (_, key: string) =>
        join('test', 'data', 'tls', pem[key] ?? key),
      );
      return [name, mounted.replaceAll('$(POD_IP)', POD_IP)];
    }),
  );
}
