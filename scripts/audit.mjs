/**
 * Asks the registry for known vulnerabilities in the packages that the service runs with. Exits 1 and names them if any
 * is high or critical.
 *
 * If the registry doesn't respond, the script has checked nothing. It then succeeds, but prints a conspicuous line on
 * stderr.
 */
import { spawnSync } from 'node:child_process';

const GRAVE = ['high', 'critical'];
const TIMEOUT_MS = 120_000;

const args = ['audit', '--json', '--omit=dev', '--fetch-retries=0', '--fetch-timeout=30000'];
const { stdout, error } = spawnSync('npm', args, { encoding: 'utf8', timeout: TIMEOUT_MS });
const report = parse(stdout);
const counts = report?.metadata?.vulnerabilities;
if (counts === undefined) {
  const reason = report?.message || report?.error?.summary || error?.message || 'npm printed no report';
  nothingChecked(`the registry sent no report (${reason})`);
} else if (report.metadata.dependencies?.total === 0) {
  nothingChecked('npm found no packages');
} else if (GRAVE.every((severity) => counts[severity] === 0)) {
  console.log(`npm audit: no high or critical vulnerability (less severe: ${counts.total})`);
} else {
  console.error('npm audit: known vulnerabilities in packages of the running service:');
  for (const { name, severity, range } of Object.values(report.vulnerabilities)) {
    if (GRAVE.includes(severity)) console.error(`  ${severity}: ${name} ${range}`);
  }
  process.exitCode = 1;
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
