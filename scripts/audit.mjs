/**
 * Asks the registry for known vulnerabilities in the packages that users get: the dependencies, and the packages in the
 * bundles of the last build. Exits 1 and names them if any is high or critical.
 *
 * If the registry doesn't respond, the script has checked nothing. It then succeeds, but prints a conspicuous line on
 * stderr.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { exitUnlessBuilt } from './built.mjs';
import { PACKAGES } from './bundle/licences.mjs';

const GRAVE = ['high', 'critical'];
const TIMEOUT_MS = 120_000;

exitUnlessBuilt();
const isShipped = shippedPackages();
const args = ['audit', '--json', '--fetch-retries=0', '--fetch-timeout=30000'];
const { stdout, error } = spawnSync('npm', args, { encoding: 'utf8', timeout: TIMEOUT_MS });
const report = parse(stdout);
if (report?.metadata?.vulnerabilities === undefined) {
  const reason = report?.message || report?.error?.summary || error?.message || 'npm printed no report';
  nothingChecked(`the registry sent no report (${reason})`);
} else if (report.metadata.dependencies?.total === 0) {
  nothingChecked('npm found no packages');
} else {
  const found = Object.values(report.vulnerabilities).filter(({ nodes }) => nodes.some(isShipped));
  const grave = found.filter(({ severity }) => GRAVE.includes(severity));
  if (grave.length === 0) {
    console.log(`npm audit: no high or critical vulnerability (less severe: ${found.length})`);
  } else {
    console.error('npm audit: known vulnerabilities in packages of the running service:');
    for (const { name, severity, range } of grave) console.error(`  ${severity}: ${name} ${range}`);
    process.exitCode = 1;
  }
}

/** Returns whether a path in node_modules is of a dependency or of a bundled package. */
function shippedPackages() {
  const read = (...path) => JSON.parse(readFileSync(join(import.meta.dirname, '..', ...path), 'utf8'));
  const { packages } = read('package-lock.json');
  const bills = ['service', 'dashboard'].map((folder) => read('dist', folder, PACKAGES));
  const bundled = new Set(
    bills.flatMap(({ components }) => components.map(({ name, version }) => `${name}@${version}`)),
  );
  return (path) => {
    const { dev, version } = packages[path] ?? {};
    return !dev || bundled.has(`${path.split('node_modules/').at(-1)}@${version}`);
  };
}

function nothingChecked(why) {
  const words = `WARNING: npm audit checked NOTHING: ${why}`;
  const rule = '!'.repeat(72);
  console.error(`${rule}\n${words}\n${rule}`);
}

/** npm's output. It isn't JSON if npm itself failed. */
function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
