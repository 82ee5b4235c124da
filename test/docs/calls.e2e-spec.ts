import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { call, freshName, startApp, type TestApp } from '../support/app.js';
import { documentedCalls, promised } from '../support/documented-calls.js';
import { serviceProgram } from '../support/service-program.js';

const run = promisify(execFile);

/** Whether the test runs a command. Backup calls need two services and run in test/e2e/transfer.e2e-spec.ts. */
function isRun(command: string): boolean {
  return command.includes('curl') && !/\/(?:export|import)$/m.test(command);
}

const PAGES = ['README.md', ...readdirSync('docs').map((name) => join('docs', name))]
  .filter((file) => file.endsWith('.md'))
  .map((file) => ({ file, calls: documentedCalls(file).filter(({ command }) => isRun(command)) }))
  .filter(({ calls }) => calls.length > 0);

it('README.md: the calls of a crawler, from creating its set to forgetting a page', () => {
  const [readme] = PAGES;
  const verbs = readme?.calls.map(({ command }) => /\/v1\/(?:\S*\/)?([a-z-]+)(?=\s|$)/.exec(command)?.[1]);
  expect(verbs).toEqual(['visited-sets', 'discover', 'lease', 'ack', 'forget']);
});

describe.each(PAGES)('$file: the calls', ({ calls }) => {
  let app: TestApp;
  /** The last id in an answer, which a reader would put into the variable. */
  let id = '';
  beforeAll(async () => {
    app = await startApp();
  });
  afterAll(() => app.close());

  // The calls run in the page's order, because each builds on those before it.
  it.each(calls)('work as pasted: $command', async ({ command, answer = '' }) => {
    const here = command.replaceAll('http://127.0.0.1:3000', app.url);
    const env = { ...process.env, ID: id };
    const { stdout } = await run('bash', ['-c', here], { timeout: 240_000, env });
    expect(stdout.trimEnd()).toMatch(promised(answer));
    id = /"id":"([^"]+)"/.exec(stdout)?.[1] ?? id;
  });
});

describe('docs/operations.md: the runbook', () => {
  const [, runbook = ''] =
    /\n## Respond to alerts\n(.*?)\n## /s.exec(readFileSync('docs/operations.md', 'utf8')) ?? [];
  const [define = ''] = /^ {4}call\(\) .*$/m.exec(runbook) ?? [];
  const commands = new Set(
    [...runbook.matchAll(/`((?:npx unseen|call) [^`]+)`/g)].map(([, command = '']) =>
      command.replaceAll('\n', ' '),
    ),
  );
  let app: TestApp;
  let folder: string;
  let program: string;
  beforeAll(async () => {
    app = await startApp();
    folder = await mkdtemp(join(tmpdir(), 'unseen-runbook-'));
    program = join(await serviceProgram(), 'cli', 'unseen.js');
  });
  afterAll(async () => {
    await app.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('has commands', () => {
    expect(commands.size).toBeGreaterThan(8);
  });

  /** A set with a sync and a queue. Some commands need it, and some delete it. */
  async function makeSet(): Promise<{ name: string; id: string }> {
    const name = freshName('set');
    const path = `/v1/visited-sets/${name}`;
    await call(app, 'POST', '/v1/visited-sets', { name, capacity: 1_000, perHost: {} });
    const { body } = await call(app, 'POST', `${path}/syncs`, {});
    await call(app, 'POST', `${path}/discover`, { urls: ['https://host.example/'] });
    return { name, id: (body as { id: string }).id };
  }

  it.each([...commands])('has a command that works: %s', async (command) => {
    const { name, id } = await makeSet();
    const unseen = `"${process.execPath}" "${program}"`;
    const file = join(folder, `${name}.export`);
    const here = command
      .replace('npx unseen', unseen)
      .replace('…', '/v1/visited-sets/NAME')
      .replace('/v1/filters/NAME', '/v1/filters')
      .replace('NAME', name)
      .replace('HOST', 'host.example')
      .replace('ID', id)
      .replace('FILE', file);
    const prepare = command.includes('FILE')
      ? `${unseen} export ${name} -o ${file} && ${unseen} drop ${name} && `
      : '';
    const env = { PATH: process.env.PATH, HOME: folder, UNSEEN_URL: app.url };
    const script = `${define.replace('curl -sS', 'curl -sSf').trim()}\n${prepare}${here}`;
    await run('bash', ['-c', script], { timeout: 240_000, env });
  });
});
