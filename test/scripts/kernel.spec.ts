import { spawnSync } from 'node:child_process';
import { describe, expect, it } from '@jest/globals';

describe('scripts/kernel.mjs', () => {
  it('finds that the kernel’s binary is what its sources compile to', () => {
    const { status, stderr } = spawnSync(process.execPath, ['scripts/kernel.mjs', '--check'], {
      timeout: 240_000,
      encoding: 'utf8',
    });
    expect([status, stderr]).toEqual([0, '']);
  });
});
