import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { readConfig } from '../../src/config/config.js';

const UNIT = readFileSync('deploy/systemd/unseen.service', 'utf8');
const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };

/** The value of an option that the unit sets once. */
function option(name: string): string {
  const [value = '', ...others] = [...UNIT.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(
    ([, text]) => text,
  );
  expect(others).toEqual([]);
  return value;
}

it('the systemd unit starts the service as `npm start` does', () => {
  expect(option('ExecStart')).toBe(`/usr/bin/${scripts.start}`);
});

it('the systemd unit has settings that the service accepts, and its data in the folder that systemd creates', () => {
  const pairs = option('Environment').matchAll(/(\w+)=(\S+)/g);
  const env = Object.fromEntries([...pairs].map(([, name = '', value]) => [name, value]));
  expect(readConfig(env).dataDir).toBe(`/var/lib/${option('StateDirectory')}`);
});

it('the systemd unit leaves the service time to stop', () => {
  expect(1_000 * Number(option('TimeoutStopSec'))).toBeGreaterThan(2 * readConfig({}).shutdownGraceMs);
});
