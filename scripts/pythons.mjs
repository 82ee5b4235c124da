import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

/** The folder for what the tests need from PyPI. */
export const PYTHON_TOOLS = join(import.meta.dirname, '..', '.tools');

/** A user's own Python often hides the system's Python, which may be the one that has the packages. */
const PYTHONS = ['python3', '/usr/bin/python3'];

/**
 * The first of `$PYTHON`, `python3` and `/usr/bin/python3` that runs a program which prints something.
 *
 * @param {string} program in Python
 * @param {string} [pythonPath] a folder with more packages
 * @returns {{ python: string, lines: string[] } | undefined} the lines that it printed, even if it then failed
 */
export function firstPython(program, pythonPath) {
  const env = pythonPath ? { ...process.env, PYTHONPATH: withPythonPath(pythonPath) } : process.env;
  for (const python of [process.env.PYTHON, ...PYTHONS]) {
    if (!python) continue;
    const { stdout } = spawnSync(python, ['-c', program], { encoding: 'utf8', timeout: 60_000, env });
    const lines = stdout?.trim().split('\n') ?? [];
    if (lines[0]) return { python, lines };
  }
  return undefined;
}

/** The PYTHONPATH with a folder in front. */
export function withPythonPath(folder) {
  return [folder, process.env.PYTHONPATH].filter(Boolean).join(':');
}

/**
 * Runs pip, and prints its output.
 *
 * @param {string[]} args
 * @returns {string | undefined} the reason for a failure, or undefined
 */
export function runPip(args) {
  const found = firstPython('import pip; print(pip.__version__)');
  if (!found) return 'no Python has pip';
  const words = [found.python, '-m', 'pip', ...args];
  console.log(`Installing from PyPI: ${words.join(' ')}`);
  const { status } = spawnSync(words[0], words.slice(1), { stdio: 'inherit' });
  return status === 0 ? undefined : 'pip failed; its output above says why';
}
