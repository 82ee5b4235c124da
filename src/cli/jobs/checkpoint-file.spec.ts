import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { CheckpointFile } from './checkpoint-file.js';

describe('a checkpoint', () => {
  let folder: string;
  let path: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'unseen-checkpoint-'));
    path = join(folder, 'below', 'job');
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const written = async (...states: unknown[]): Promise<void> => {
    const file = await CheckpointFile.open(path);
    for (const state of states) file.write(state);
    file.close();
  };
  const found = async (): Promise<unknown> => {
    const file = await CheckpointFile.open(path);
    file.close();
    return file.found;
  };

  it('has the last state that was written', async () => {
    expect(await found()).toBeUndefined();
    await written({ entries: 1 }, { entries: 2 }, { entries: 3 });
    expect(await found()).toEqual({ entries: 3 });
  });

  it('has the previous state if the last write was torn, at any byte', async () => {
    await written({ entries: 1 }, { entries: 2 });
    const whole = readFileSync(path);
    // The second slot has the first state, and the first slot the second.
    for (let cut = 0; cut < 4_096; cut += 7) {
      writeFileSync(
        path,
        Buffer.concat([whole.subarray(0, cut), Buffer.alloc(4_096 - cut), whole.subarray(4_096)]),
      );
      expect([{ entries: 1 }, { entries: 2 }]).toContainEqual(await found());
      if (cut < 50) expect(await found()).toEqual({ entries: 1 });
    }
  });

  it('keeps a file that is not a checkpoint, and locks out other processes', async () => {
    await written({ entries: 1 });
    const file = await CheckpointFile.open(path);
    await expect(CheckpointFile.open(path)).rejects.toThrow('another process is running this job');
    file.remove();
    expect(existsSync(path)).toBe(false);
    writeFileSync(path, 'notes');
    await expect(CheckpointFile.open(path)).rejects.toThrow('is not a checkpoint');
    expect(readFileSync(path, 'utf8')).toBe('notes');
    await expect(CheckpointFile.open(folder)).rejects.toThrow('cannot keep a checkpoint');
  });

  // Node's recursive mkdir never returns below /proc.
  it('is refused in a folder that cannot be created', async () => {
    const path = '/proc/unseen/below/job';
    await expect(CheckpointFile.open(path)).rejects.toThrow(`cannot keep a checkpoint in "${path}"`);
  });
});
