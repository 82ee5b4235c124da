/**
 * Runs a bundled script, and then writes its compiled code: `node scripts/bundle/record.mjs SCRIPT [ARGUMENT...]`. The
 * code contains the functions that have run.
 */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import v8 from 'node:v8';
import { checksums, codePathOf, run, scriptOf } from './load.mjs';

// V8 refuses code that was stored under other flags than it is loaded under. So a program's flags are set only before its
// scripts are stored that it loaded under them.
const { setFlagsFromString } = v8;
const flags = [];
v8.setFlagsFromString = (more) => flags.push(more);
const [script = ''] = process.argv.splice(2, 1);
process.argv[1] = resolve(script);
await record(pathToFileURL(script)).runCommandLine?.();

function record(url) {
  const path = fileURLToPath(url);
  const source = readFileSync(path);
  const script = scriptOf(path, source);
  const loadedUnder = [...flags];
  process.on('exit', () => {
    loadedUnder.forEach((some) => setFlagsFromString(some));
    write(codePathOf(path), source, script.createCachedData());
  });
  return run(script, path, record);
}

/** Keeps the code of an earlier run. */
function write(path, source, code) {
  if (existsSync(path)) return;
  writeFileSync(`${path}.new`, Buffer.concat([code, checksums(source, code)]));
  renameSync(`${path}.new`, path);
}
