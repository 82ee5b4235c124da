import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startApp, type TestApp } from '../support/app.js';
import { documentedCalls, promised } from '../support/documented-calls.js';

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
