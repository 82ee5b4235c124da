import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { load, YAML11_SCHEMA } from 'js-yaml';

export interface Service {
  readonly image?: string;
  readonly profiles?: readonly string[];
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly secrets?: readonly string[];
  readonly depends_on?: readonly string[] | Readonly<Record<string, { readonly condition: string }>>;
  readonly networks?: readonly string[] | Readonly<Record<string, { readonly ipv4_address: string }>>;
}

/** The compose file, with the variables' defaults, as docker compose sees it. */
export interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, unknown>>;
  readonly networks: Readonly<Record<string, unknown>>;
  readonly secrets: Readonly<Record<string, { readonly file: string }>>;
}

export function readCompose(): Compose {
  const text = readFileSync('docker-compose.yml', 'utf8').replace(/\$\{\w+:-([^}]*)\}/g, '$1');
  return load(text, { schema: YAML11_SCHEMA }) as Compose;
}

/** The names of the services that a profile starts, or of those that always start. */
export function namesIn({ services }: Compose, profile?: string): string[] {
  return Object.keys(services).filter((name) => services[name]!.profiles?.[0] === profile);
}

/** A service's mounts, as source and target. A source is a path in the checkout, or the name of a volume. */
export function mountsOf({ volumes = [] }: Service): (readonly [source: string, target: string])[] {
  return volumes.map((text) => {
    const [source = '', target = ''] = text.split(':');
    return [source, target] as const;
  });
}

/** The file in the checkout that a service sees under a path. */
export function mountedFile(service: Service, path: string): string {
  const [source, target] = mountsOf(service).find(([, at]) => path === at || path.startsWith(`${at}/`)) ?? [];
  if (source === undefined || target === undefined) throw new Error(`nothing is mounted at ${path}`);
  return join(source, path.slice(target.length));
}
