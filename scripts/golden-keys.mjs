/**
 * Computes the golden URL keys with another version of Node, as in `node scripts/golden-keys.mjs 24`. A stored set's
 * keys must not depend on which version of Node reads it. The npm package `node` provides the binary. Exits 1 if the
 * download fails or a key differs.
 */
import { spawnSync } from 'node:child_process';

const [version = ''] = process.argv.slice(2);
if (!/^\d+(\.\d+\.\d+)?$/.test(version)) {
  console.error(
    `golden keys: the version is "${version}"; it must be a version of Node.js, such as 24 or 24.0.0`,
  );
  process.exit(1);
}

const found = spawnSync(
  'npm',
  ['exec', '--yes', `--package=node@${version}`, '--', 'node', '-p', 'process.execPath'],
  {
    encoding: 'utf8',
    timeout: 300_000,
  },
);
const binary = found.stdout?.trim().split('\n').at(-1) ?? '';
const running = binary === '' ? '' : spawnSync(binary, ['--version'], { encoding: 'utf8' }).stdout?.trim();
if (running !== `v${version}` && !running?.startsWith(`v${version}.`)) {
  const reason = running ? `the node at hand is ${running}` : found.error?.message || found.stderr.trim();
  console.error(`golden keys: not checked, because npm could not fetch node@${version}: ${reason}`);
  process.exit(1);
}

console.log(`golden keys under Node ${running}`);
const jest = [
  '--experimental-vm-modules',
  '--disable-warning=ExperimentalWarning',
  'node_modules/jest/bin/jest.js',
];
const { status } = spawnSync(binary, [...jest, 'libs/url-key/src/golden'], { stdio: 'inherit' });
process.exit(status ?? 1);
