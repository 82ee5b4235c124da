import { spawnSync } from 'node:child_process';
import { which } from './find-redis.mjs';

/**
 * Prometheus and promtool for the tests, from the PATH.
 *
 * @returns {{ prometheus: string, promtool: string, version: string } | undefined} undefined if one is missing.
 */
export function findPrometheus() {
  const prometheus = which('prometheus');
  const promtool = which('promtool');
  if (!prometheus || !promtool) return undefined;
  const { stdout = '', stderr = '' } = spawnSync(promtool, ['--version'], {
    encoding: 'utf8',
    timeout: 60_000,
  });
  const version = /\bversion (\d+\.[\d.]+)/.exec(`${stdout}${stderr}`)?.[1];
  return version && { prometheus, promtool, version };
}
