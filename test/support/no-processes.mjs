/** Replaces node:child_process in tests that must not start processes. */
function refuse() {
  throw new Error('a spec of npm run test:quick starts no process: see jest.quick.config.mjs');
}

export { refuse as execFile, refuse as execFileSync, refuse as fork, refuse as spawn, refuse as spawnSync };
