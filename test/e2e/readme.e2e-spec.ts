import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readConfig } from '../../src/config.js';
import { CATALOGUE } from '../../src/errors/catalogue.js';
import { startApp, type TestApp } from '../support/app.js';
import { documentedCalls, promised } from '../support/documented-calls.js';

const README = readFileSync('README.md', 'utf8');
const run = promisify(execFile);

const CALLS = documentedCalls('README.md');

/** Rows of the table whose first column has this name: their cells, without backticks. */
function table(firstColumn: string): string[][] {
  const lines = README.split('\n').map((line) => (line.startsWith('|') ? cells(line) : []));
  const head = lines.findIndex(([first]) => first === firstColumn);
  const rows = lines.slice(head + 2);
  return rows.slice(
    0,
    rows.findIndex((row) => row.length === 0),
  );
}

function cells(line: string): string[] {
  const inner = line.trim().slice(1, -1).split('|');
  return inner.map((cell) => cell.trim().replace(/^`(.*)`$/, '$1'));
}

describe('README: the calls', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
  });
  afterAll(() => app.close());

  it('are five', () => {
    expect(CALLS.map(({ command }) => command)).toEqual(Array(5).fill(expect.stringContaining('curl')));
  });

  // In the order of the README, because each one builds on those before it.
  it.each(CALLS)('work as pasted: $command', async ({ command, answer = '' }) => {
    const here = command.replaceAll('http://127.0.0.1:3000', app.url);
    const { stdout } = await run('bash', ['-c', here], { timeout: 20_000 });
    expect(stdout.trimEnd()).toMatch(promised(answer));
  });
});

describe('README: the settings', () => {
  const rows = table('setting');

  it('are those that are read, no more and no less', () => {
    const read = new Set<string>();
    readConfig(new Proxy({}, { get: (_, name) => void read.add(String(name)) }));
    expect(rows.map(([name]) => name).sort()).toEqual([...read].sort());
  });

  it('have the defaults they are said to have', () => {
    const given = rows.filter(([, fallback]) => fallback !== 'unset');
    const env: Record<string, string> = {};
    for (const [name = '', fallback = ''] of given) env[name] = fallback;
    expect(readConfig(env)).toEqual(readConfig({}));
  });
});

describe('README: the errors', () => {
  it('are those of the catalogue, in its order', () => {
    const rows = table('code').map(([code, status]) => [code, Number(status)]);
    expect(rows).toEqual(Object.entries(CATALOGUE).map(([code, { status }]) => [code, status]));
  });
});
