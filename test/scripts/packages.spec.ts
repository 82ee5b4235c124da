import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

describe('the lock file', () => {
  it('has no package that refuses the Node.js it is installed with', () => {
    const folder = mkdtempSync(join(tmpdir(), 'unseen-packages-'));
    try {
      for (const file of ['package.json', 'package-lock.json']) copyFileSync(file, join(folder, file));
      const args = ['ci', '--dry-run', '--offline', '--ignore-scripts', '--engine-strict'];
      const { status, stderr } = spawnSync('npm', args, { cwd: folder, encoding: 'utf8' });
      expect({ status, stderr }).toEqual({ status: 0, stderr: expect.not.stringContaining('EBADENGINE') });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
