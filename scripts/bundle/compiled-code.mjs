import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { SCRIPTS } from '../bundle.mjs';
import { codePathOf } from './load.mjs';

const RECORD = join(import.meta.dirname, 'record.mjs');
/** Each program takes less than a second. */
const PATIENCE_MS = 120_000;
/** Lets the service load OpenTelemetry, and send nothing. */
const TRACES = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318', OTEL_TRACES_SAMPLER: 'always_off' };

/**
 * Lets the bundled scripts in `folder` start from compiled code. Runs each of them once, because V8 compiles functions
 * when they are first called. The code is for this version of Node. Kills a program that takes longer than `patienceMs`,
 * and throws.
 */
export async function compile(folder, { patienceMs = PATIENCE_MS } = {}) {
  const scriptOf = (name) => join(folder, `${name}.cjs`);
  const unseen = (args, env) =>
    promisify(execFile)(process.execPath, [RECORD, scriptOf('cli/command-line'), ...args], {
      ...limited(patienceMs),
      env,
    });
  const dataDir = await mkdtemp(join(tmpdir(), 'unseen-compile-'));
  try {
    const program = [RECORD, scriptOf('main')];
    await serving(program, { dataDir, patienceMs }, (url) => unseen(['list'], { UNSEEN_URL: url }));
    await unseen(['keys', '--offline', 'list'], { DATA_DIR: dataDir });
    for (const name of Object.keys(SCRIPTS)) await access(codePathOf(scriptOf(name)));
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}

const limited = (patienceMs) => ({ timeout: patienceMs, killSignal: 'SIGKILL' });

/** Calls `use` with the URL of a service, and stops the service. */
async function serving(args, { dataDir, patienceMs }, use) {
  const service = spawn(process.execPath, args, {
    ...limited(patienceMs),
    env: { PORT: '0', DATA_DIR: dataDir, LOG_LEVEL: 'warn', ...TRACES },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(service, 'exit');
  try {
    await use(await urlOf(service));
  } finally {
    service.kill('SIGTERM');
    await exited;
  }
  const [status] = await exited;
  if (status !== 0) throw new Error(`the service did not stop: ${status}`);
}

async function urlOf({ stdout }) {
  let words = '';
  for await (const chunk of stdout.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    words += chunk;
    const [, url] = /is listening on (http:[^\s,]+)/.exec(words) ?? [];
    if (url !== undefined) return url;
  }
  throw new Error(`the service did not start: ${words}`);
}
