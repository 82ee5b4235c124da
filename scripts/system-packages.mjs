import { spawnSync } from 'node:child_process';
import { which } from './find-redis.mjs';

/**
 * One of the system's package managers. Tells whether it needs root, and which command must precede the first
 * installation.
 *
 * @typedef {{ program: string, root: boolean, update?: string[], install: string[] }} Manager
 */

/** In order of preference. */
const MANAGERS = [
  { program: 'apt-get', root: true, update: ['update'], install: ['install', '-y'] },
  { program: 'dnf', root: true, install: ['install', '-y'] },
  { program: 'apk', root: true, install: ['add'] },
  { program: 'pacman', root: true, install: ['-Sy', '--noconfirm'] },
  { program: 'brew', root: false, install: ['install'] },
];

const updated = new Set();

/**
 * Installs a package with the system's package manager, and reports it.
 *
 * @param {Record<string, string[]>} names the package's possible names by package manager, best first. A name may list
 *   several packages, separated by spaces.
 * @returns {string | undefined} the reason for a failure, or undefined.
 */
export function installPackage(names) {
  const manager = MANAGERS.find(({ program }) => names[program] && which(program));
  if (!manager) return 'no known package manager on this machine has it';
  const { program, update, install } = manager;
  if (update && !updated.has(program)) {
    if (!run(manager, update)) return `${program} ${update.join(' ')} failed`;
    updated.add(program);
  }
  const done = names[program].some((name) => run(manager, [...install, ...name.split(' ')]));
  return done ? undefined : `${program} could not install ${names[program].join(' or ')}`;
}

function run({ program, root }, command) {
  const asRoot = root && process.getuid?.() !== 0 && which('sudo') ? ['sudo'] : [];
  const words = [...asRoot, program, ...command];
  console.log(`Installing with the system's package manager: ${words.join(' ')}`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  return spawnSync(words[0], words.slice(1), { stdio: 'inherit', env }).status === 0;
}
