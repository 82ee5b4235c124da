/** Stands for node:child_process where tests are to start no process. */
function refuse() {
  throw new Error('a spec of npm run test:quick starts no process: see jest.quick.config.mjs');
}

export { refuse as execFile, refuse as execFileSync, refuse as fork, refuse as spawn, refuse as spawnSync };
