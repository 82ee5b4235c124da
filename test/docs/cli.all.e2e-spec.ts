import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startApp, type TestApp } from '../support/app.js';
import { documentedCalls, promised } from '../support/documented-calls.js';
import { serviceProgram } from '../support/service-program.js';

const run = promisify(execFile);
const CALLS = documentedCalls('docs/cli.md');

describe('docs/cli.md: the commands', () => {
  let app: TestApp;
  let home: string;
  let program: string;
  beforeAll(async () => {
    app = await startApp();
    home = await mkdtemp(join(tmpdir(), 'unseen-home-'));
    program = join(await serviceProgram(), 'cli', 'unseen.js');
  });
  afterAll(async () => {
    await app.close();
    await rm(home, { recursive: true, force: true });
  });

  it('are those of a crawler', () => {
    const commands = CALLS.map(({ command }) => /npx unseen (\w+)/.exec(command)?.[1]);
    expect(commands).toEqual(
      expect.arrayContaining(['create', 'discover', 'work', 'check', 'forget', 'sync', 'export', 'list']),
    );
  });

  // The commands run in page order, because each builds on those before it.
  it.each(CALLS)('work as pasted: $command', async ({ command, answer = '' }) => {
    const here = command.replaceAll('npx unseen', `"${process.execPath}" "${program}"`);
    const env = { PATH: process.env.PATH, HOME: home, UNSEEN_URL: app.url };
    const { stdout } = await run('bash', ['-c', here], { timeout: 240_000, env });
    expect(stdout.trimEnd()).toMatch(promised(answer));
  });
});
