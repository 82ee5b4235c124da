import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

/**
 * Runs `work` with this process, the client, on the first core and the measured processes on the other cores.
 * Otherwise, a client that overloads the service would take CPU time from it. If cores can't be assigned, all processes
 * share them.
 */
export async function apart<T>(pids: readonly number[], work: () => Promise<T>): Promise<T> {
  const last = availableParallelism() - 1;
  const apart = last > 0 && pin(process.pid, '0') && pids.every((pid) => pin(pid, `1-${last}`));
  if (!apart)
    console.error('  client and service share their cores: the machine has only one, or taskset is missing');
  try {
    return await work();
  } finally {
    for (const pid of [process.pid, ...pids]) pin(pid, `0-${last}`);
  }
}

/** Assigns all threads of a process to cores. */
function pin(pid: number, cores: string): boolean {
  try {
    execFileSync('taskset', ['--all-tasks', '--cpu-list', '--pid', cores, String(pid)], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
