/**
 * Provides the Redis server for the tests.
 *
 *   redis-ensure.mjs           uses an installed server, or installs one with the system's package manager
 *   redis-ensure.mjs --check   exits 1 with a one-line message if none is recent enough
 *   redis-ensure.mjs --path    does the same check, then prints the path of the server
 */
import { ensureRedis, fail, redisComplaint } from './ensure.mjs';
import { findRedis } from './find-redis.mjs';

const mode = process.argv[2];
const server = findRedis();
if (mode !== '--check' && mode !== '--path') ensureRedis();
else if (!server?.recent) fail(`${redisComplaint(server)}; run: npm run redis:ensure`);
else if (mode === '--path') process.stdout.write(server.path);
