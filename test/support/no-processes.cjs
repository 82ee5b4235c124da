/**
 * Replaces node:child_process in tests that must not start processes. It is a CommonJS module, because packages may
 * require it.
 */
function refuse() {
  throw new Error('a spec of npm run test:quick starts no process: see jest.quick.config.mjs');
}

module.exports = { execFile: refuse, execFileSync: refuse, fork: refuse, spawn: refuse, spawnSync: refuse };
