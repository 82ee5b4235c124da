import { existsSync, readFileSync } from 'node:fs';

/** A package in package-lock.json. */
export interface LockedPackage {
  readonly version: string;
  readonly dev?: boolean;
  /** The systems that a package with binaries is for. */
  readonly os?: readonly string[];
}

const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
  packages: Readonly<Record<string, LockedPackage>>;
};

/** All packages by their paths, such as `node_modules/lmdb`. */
export const LOCKED: Readonly<Record<string, LockedPackage>> = packages;

/** The packages for users, and not only for development, on any system. */
export const RELEASED: Readonly<Record<string, LockedPackage>> = Object.fromEntries(
  Object.entries(packages).filter(([path, { dev }]) => path !== '' && !dev),
);

/** Those that npm installs on this system. */
export const INSTALLED: Readonly<Record<string, LockedPackage>> = Object.fromEntries(
  Object.entries(RELEASED).filter(([path]) => existsSync(path)),
);

/** `NAME@VERSION` of a package in node_modules. */
export const titleOf = (path: string, { version }: LockedPackage): string =>
  `${path.split('node_modules/').at(-1)}@${version}`;
