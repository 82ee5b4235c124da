import { spawnSync } from 'node:child_process';
import { describe, expect, it } from '@jest/globals';

describe('scripts/kernel.mjs', () => {
  it('confirms that the kernel’s binary matches its sources', () => {
    const { status, stderr } = spawnSync(process.execPath, ['scripts/kernel.mjs', '--check'], {
      timeout: 240_000,
      encoding: 'utf8',
    });
    expect([status, stderr]).toEqual([0, '']);
  });
});
