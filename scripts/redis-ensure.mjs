/**
 * Provides the Redis server that the tests run against.
 *
 *   redis-ensure.mjs           uses an installed one, else installs one with the system's package manager
 *   redis-ensure.mjs --check   exits 1 with one line if none is recent enough
 *   redis-ensure.mjs --path    the same check, then prints the server's path
 */
import { spawnSync } from 'node:child_process';
import { findRedis, OLDEST_MAJOR, which } from './find-redis.mjs';

/**
 * Package managers in the order in which they are tried, each with the commands that install a Redis or Valkey server.
 */
const MANAGERS = [
  { program: 'apt-get', root: true, commands: [['update'], ['install', '-y', 'redis-server']] },
  {
    program: 'dnf',
    root: true,
    commands: [['install', '-y', 'redis']],
    otherwise: ['install', '-y', 'valkey'],
  },
  { program: 'apk', root: true, commands: [['add', 'redis']], otherwise: ['add', 'valkey'] },
  { program: 'pacman', root: true, commands: [['-Sy', '--noconfirm', 'valkey']] },
  { program: 'brew', root: false, commands: [['install', 'redis']] },
];

const mode = process.argv[2];
const server = findRedis();
if (server?.recent) report(server);
else if (mode === '--check' || mode === '--path') fail(`${complaint(server)}; run: npm run redis:ensure`);
else ensure(server);

function ensure(found) {
  if (process.env.REDIS_SERVER) fail(`REDIS_SERVER: ${complaint(found)}`);
  console.log(`${complaint(found)}.`);
  const manager = MANAGERS.find(({ program }) => which(program));
  if (!manager) {
    fail(
      `No package manager known here; install redis-server ${OLDEST_MAJOR} or newer, or set REDIS_SERVER.`,
    );
  }
  install(manager);
  const installed = findRedis();
  if (!installed?.recent)
    fail(`${complaint(installed)}, after installing; install one by hand, or set REDIS_SERVER.`);
  report(installed);
}

function install({ program, root, commands, otherwise }) {
  const done = commands.every((command) => run(program, root, command));
  if (done || (otherwise && run(program, root, otherwise))) return;
  fail(`${program} could not install a Redis server; install one by hand, or set REDIS_SERVER.`);
}

function run(program, root, command) {
  const asRoot = root && process.getuid?.() !== 0 && which('sudo') ? ['sudo'] : [];
  const words = [...asRoot, program, ...command];
  console.log(`Installing with the system's package manager: ${words.join(' ')}`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  return spawnSync(words[0], words.slice(1), { stdio: 'inherit', env }).status === 0;
}

function complaint(found) {
  return found
    ? `${found.path} is version ${found.version}, the tests need ${OLDEST_MAJOR}.0 or newer`
    : 'No redis-server (or valkey-server) found';
}

function report({ path, version }) {
  if (mode === '--path') process.stdout.write(path);
  else if (mode !== '--check') console.log(`Redis server ${version}: ${path}`);
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
