import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';

it('test:quick runs specs whose packages require node:child_process', async () => {
  const jest = join('node_modules', 'jest', 'bin', 'jest.js');
  const args = ['--experimental-vm-modules', jest, '--config', 'jest.quick.config.mjs', 'src/cli/values'];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  expect(stdout).toMatch(/^[1-9]\d* passed, 0 failed$/m);
});
