import { existsSync, readdirSync } from 'node:fs';
import { extname, join } from 'node:path';
import { packageFolder } from '../assets/package-folder.js';

/** A file that the page loads. */
export interface BuiltAsset {
  readonly name: string;
  readonly type: string;
  readonly path: string;
  /** The file's compressed versions, best first. */
  readonly encodings: readonly { readonly name: string; readonly path: string }[];
}

export interface BuiltDashboard {
  /** The page's path. */
  readonly page: string;
  /** The path of the licences of the packages in the page. */
  readonly licences: string;
  readonly assets: readonly BuiltAsset[];
}

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.svg': 'image/svg+xml',
};

const ENCODINGS = [
  { name: 'br', suffix: '.br' },
  { name: 'gzip', suffix: '.gz' },
];

/** The output of `npm run build` for libs/dashboard, or undefined if it isn't built. */
export function builtDashboard(): BuiltDashboard | undefined {
  const folder = join(packageFolder(), 'dist', 'dashboard');
  const page = join(folder, 'index.html');
  if (!existsSync(page)) return undefined;
  const files = new Set(readdirSync(join(folder, 'assets')));
  const assets = [...files].flatMap((name) => {
    const type = TYPES[extname(name)];
    if (type === undefined) return [];
    const encodings = ENCODINGS.filter(({ suffix }) => files.has(name + suffix)).map((encoding) => ({
      name: encoding.name,
      path: join(folder, 'assets', name + encoding.suffix),
    }));
    return [{ name, type, path: join(folder, 'assets', name), encodings }];
  });
  return { page, licences: join(folder, 'LICENSES.txt'), assets };
}
