import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { packageFolder } from '../assets/package-folder.js';
import { UsageError } from './ending.js';

/** The folders in `dist` with a bundle, and what the bill calls the packages in it. */
const BUNDLES = { service: 'bundled into the service', dashboard: 'bundled into the dashboard' };
const INSTALLED = 'installed';

/** A package, as CycloneDX describes it. */
interface Component {
  readonly type: string;
  readonly name: string;
  readonly version: string;
  /** Identifies the package: https://github.com/package-url/purl-spec. */
  readonly purl: string;
  readonly licenses?: readonly { readonly expression: string }[];
}

type Versions = Readonly<Record<string, string>>;

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
  readonly dependencies?: Versions;
  readonly optionalDependencies?: Versions;
  readonly peerDependencies?: Versions;
}

/**
 * The software bill of materials of an installation, in CycloneDX's format: the packages in the bundles, which `npm sbom`
 * doesn't see, and the installed packages, in the versions on disk.
 */
export function billOfMaterials(root = packageFolder()): object {
  const own = componentOf(manifestIn(root), 'application');
  const bill = new Bill();
  bill.addInstalled(root, own);
  for (const [folder, part] of Object.entries(BUNDLES)) {
    const bundled = bundledIn(join(root, 'dist', folder, 'packages.cdx.json'));
    for (const component of bundled) bill.add(component, part);
    bill.dependsOn(own, bundled);
  }
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    serialNumber: `urn:uuid:${randomUUID()}`,
    version: 1,
    metadata: { timestamp: new Date().toISOString(), component: referred(own) },
    ...bill.content(),
  };
}

class Bill {
  private readonly components = new Map<
    string,
    { readonly component: Component; readonly parts: Set<string> }
  >();
  private readonly dependencies = new Map<string, Set<string>>();
  /** The installed packages' folders: two copies of a package may find different versions of what they need. */
  private readonly folders = new Set<string>();

  add(component: Component, part: string): void {
    const known = this.components.get(component.purl);
    if (known) known.parts.add(part);
    else this.components.set(component.purl, { component, parts: new Set([part]) });
  }

  dependsOn({ purl }: Component, others: readonly Component[]): void {
    const known = this.dependencies.get(purl) ?? new Set();
    for (const other of others) known.add(other.purl);
    this.dependencies.set(purl, known);
  }

  /** Adds the packages that a package in a folder needs, directly or not. */
  addInstalled(folder: string, component: Component): void {
    this.folders.add(folder);
    this.dependsOn(component, []);
    for (const needed of foldersOfDependencies(folder)) {
      const other = componentOf(manifestIn(needed), 'library');
      this.dependsOn(component, [other]);
      if (this.folders.has(needed)) continue;
      this.add(other, INSTALLED);
      this.addInstalled(needed, other);
    }
  }

  content(): object {
    const components = [...this.components.values()].map(({ component, parts }) => ({
      ...referred(component),
      properties: [...parts].map((value) => ({ name: 'unseen:part', value })),
    }));
    const dependencies = [...this.dependencies].map(([ref, refs]) => ({ ref, dependsOn: [...refs] }));
    return { components, dependencies };
  }
}

/** The list that the build writes. */
function bundledIn(list: string): readonly Component[] {
  if (!existsSync(list)) throw new UsageError(`${list} is missing: build Unseen, or install it again`);
  return (JSON.parse(readFileSync(list, 'utf8')) as { components: readonly Component[] }).components;
}

const manifestIn = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;

function componentOf({ name, version, license }: Manifest, type: string): Component {
  const licenses = license === undefined ? {} : { licenses: [{ expression: license }] };
  return { type, name, version, purl: `pkg:npm/${name.replace('@', '%40')}@${version}`, ...licenses };
}

/** The component with the name by which the bill's dependencies refer to it. */
const referred = (component: Component): object => ({ 'bom-ref': component.purl, ...component });

function foldersOfDependencies(folder: string): string[] {
  const manifest = manifestIn(folder);
  const { dependencies = {}, optionalDependencies = {}, peerDependencies = {} } = manifest;
  return Object.keys({ ...peerDependencies, ...optionalDependencies, ...dependencies }).flatMap((name) => {
    const found = folderOf(name, folder);
    if (found !== undefined) return [found];
    // Binaries for other platforms are optional.
    if (name in optionalDependencies || !(name in dependencies)) return [];
    throw new UsageError(`${name} is missing: ${manifest.name} needs it; install Unseen again`);
  });
}

/** Finds a package as Node does: in node_modules of the folder and of those above it. */
function folderOf(name: string, from: string): string | undefined {
  const found = join(from, 'node_modules', name);
  if (existsSync(join(found, 'package.json'))) return realpathSync(found);
  const above = dirname(from);
  return above === from ? undefined : folderOf(name, above);
}
