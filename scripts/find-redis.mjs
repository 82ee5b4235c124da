import { spawnSync } from 'node:child_process';
import { accessSync, constants, realpathSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The oldest major version that has all the store's commands. */
export const OLDEST_MAJOR = 7;

const PROGRAMS = ['redis-server', 'valkey-server'];

/**
 * The server for the tests: `$REDIS_SERVER` if that is set, otherwise redis-server or valkey-server in the PATH.
 *
 * @returns {{ path: string, version: string, recent: boolean } | undefined} the first that is recent enough, else
 *   the first that is too old, else undefined.
 */
export function findRedis() {
  const found = candidates()
    .map((path) => ({ path, version: versionOf(path) }))
    .filter(({ version }) => version !== undefined)
    .map((server) => ({ ...server, recent: Number.parseInt(server.version, 10) >= OLDEST_MAJOR }));
  return found.find(({ recent }) => recent) ?? found[0];
}

/** @returns {string | undefined} a program's full path in the PATH. */
export function which(program) {
  return (process.env.PATH ?? '')
    .split(delimiter)
    .filter(Boolean)
    .map((folder) => join(folder, program))
    .find(isExecutable);
}

function candidates() {
  if (process.env.REDIS_SERVER) return [process.env.REDIS_SERVER];
  return PROGRAMS.map(which).filter(Boolean);
}

function isExecutable(path) {
  try {
    accessSync(realpathSync(path), constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The version in "Redis server v=7.0.15 sha=…" (7.0.15) or "Valkey server v=8.0.1 sha=…" (8.0.1). */
function versionOf(path) {
  const { stdout } = spawnSync(path, ['--version'], { encoding: 'utf8', timeout: 10_000 });
  return /\bv=(\d+\.\d+[\d.]*)/.exec(stdout ?? '')?.[1];
}
