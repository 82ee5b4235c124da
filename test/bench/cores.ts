import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

/**
 * Gives this process, the client, the first core and the others to those it loads, for as long as `work` takes: offered more
 * than can be done, a client on the same cores would take what it is to measure. Where that cannot be had, all share.
 */
export async function apart<T>(pids: readonly number[], work: () => Promise<T>): Promise<T> {
  const last = availableParallelism() - 1;
  const apart = last > 0 && pin(process.pid, '0') && pids.every((pid) => pin(pid, `1-${last}`));
  if (!apart) console.error('  client and service share their cores: there is no second one, or no taskset');
  try {
    return await work();
  } finally {
    for (const pid of [process.pid, ...pids]) pin(pid, `0-${last}`);
  }
}

/** All threads of a process. */
function pin(pid: number, cores: string): boolean {
  try {
    execFileSync('taskset', ['--all-tasks', '--cpu-list', '--pid', cores, String(pid)], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
