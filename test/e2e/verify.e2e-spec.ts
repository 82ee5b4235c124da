import { existsSync } from 'node:fs';
import { mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { EmbeddedStore } from '#store/embedded';
import { add, items, makeFilter } from '../contract/calls.js';
import { runProgram, startProcess, type Ended } from '../support/service-process.js';

let dataDir: string;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'unseen-verify-'));
});
afterEach(() => rm(dataDir, { recursive: true, force: true }));

const verify = (env: Record<string, string> = {}, ...args: string[]): Promise<Ended> =>
  runProgram('cli/verify.js', args, { DATA_DIR: dataDir, ...env });

async function fill(): Promise<void> {
  const store = await EmbeddedStore.open({ dataDir });
  try {
    await add(store, await makeFilter(store, { name: 'seen' }), items(100));
  } finally {
    await store.close();
  }
}

/** Overwrites the first meta page, which LMDB needs. */
async function damage(): Promise<void> {
  const file = await open(join(dataDir, 'data.mdb'), 'r+');
  try {
    await file.write(Buffer.alloc(200), 0, 200, 0);
  } finally {
    await file.close();
  }
}

describe('npm run verify', () => {
  it('exits with 0 if every filter is intact, names the folder it checked, and changes no data', async () => {
    await fill();
    const before = await readFile(join(dataDir, 'data.mdb'));
    expect(await verify()).toEqual({
      code: 0,
      stdout: `filter seen: intact\nDATA_DIR ${JSON.stringify(dataDir)}: 1 intact, 0 damaged\n`,
      stderr: '',
    });
    expect((await readFile(join(dataDir, 'data.mdb'))).equals(before)).toBe(true);
    expect(await verify({}, '--help')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Exit status:'),
    });
  });

  it('exits with 1 on data that the service refuses to start on, and both name the remedy', async () => {
    await fill();
    await damage();
    const remedy =
      /data\.mdb is damaged \(.+\): restore a copy of the directory, or start with an empty DATA_DIR/;
    const looked = await verify();
    expect(looked).toMatchObject({ code: 1, stderr: '' });
    expect(looked.stdout).toMatch(remedy);
    const service = await startProcess({ DATA_DIR: dataDir });
    try {
      expect(await service.exit()).toBe(1);
      expect(service.stderr()).toMatch(/^Unseen cannot start: DATA_DIR /);
      expect(service.stderr()).toMatch(remedy);
    } finally {
      await service.clean();
    }
  });

  it('exits with 2 if it can’t check: data in use, no data, wrong arguments or settings', async () => {
    const missing = join(dataDir, 'none');
    const nowhere = await verify({ DATA_DIR: missing });
    expect(nowhere).toMatchObject({ code: 2, stdout: '' });
    expect(nowhere.stderr).toBe(
      `verify: DATA_DIR ${JSON.stringify(missing)}: data.mdb is missing or empty\n`,
    );
    expect(existsSync(missing)).toBe(false);

    const store = await EmbeddedStore.open({ dataDir });
    try {
      const used = await verify();
      expect(used).toMatchObject({ code: 2, stderr: expect.stringContaining('in use by another') });
    } finally {
      await store.close();
    }
    expect(await verify({}, 'all')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('takes no arguments'),
    });
    expect(await verify({ PORT: 'x' })).toMatchObject({ code: 2, stderr: expect.stringContaining('PORT') });
  });

  it('exits with 2 if the settings name Redis, because it checks the embedded store only', async () => {
    await fill();
    for (const env of [
      { REDIS_URL: 'redis://127.0.0.1:1' },
      { STORE: 'redis', REDIS_URL: 'redis://127.0.0.1:1' },
    ]) {
      const looked = await verify(env);
      expect(looked).toMatchObject({ code: 2, stdout: '' });
      expect(looked.stderr).toContain('verify checks only the embedded store');
      expect(looked.stderr).toContain(`DATA_DIR ${JSON.stringify(dataDir)}`);
    }
    const embedded = { REDIS_URL: 'redis://127.0.0.1:1', STORE: 'embedded' };
    expect(await verify(embedded)).toMatchObject({ code: 0 });
  });
});
