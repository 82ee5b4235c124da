import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Script } from 'node:vm';
import { crc32 } from 'node:zlib';

const CHECKSUMS_BYTES = 8;
/** Node.js with its parts. The same V8, built into another Node.js, may crash when it runs compiled code. */
const RUNTIME = crc32(JSON.stringify([process.versions, process.platform, process.arch]));

/**
 * Runs a bundled script, and returns its exports. If `npm run build` left compiled code for this version of Node beside
 * it, the start is faster.
 */
export function load(url) {
  const path = fileURLToPath(url);
  const require = createRequire(path);
  // Node maps stack traces to the sources only in files that it loads itself.
  if (process.sourceMapsEnabled) return require(path);
  const source = readFileSync(path);
  const code = compiledCode(path, source);
  return code ? run(scriptOf(path, source, code), path, load) : require(path);
}

/** The path of a script's compiled code. */
export const codePathOf = (path) => path.replace(/\.cjs$/, '.code');

/**
 * The end of the file with compiled code. V8 itself checks only its version, without the number of Node's build, its
 * flags, and the source's length.
 */
export function checksums(source, code) {
  const sums = Buffer.alloc(CHECKSUMS_BYTES);
  sums.writeUInt32LE(crc32(source, RUNTIME));
  sums.writeUInt32LE(crc32(code), CHECKSUMS_BYTES / 2);
  return sums;
}

/** Returns undefined if the file is missing, damaged, or belongs to another script or another Node.js. */
function compiledCode(path, source) {
  try {
    const bytes = readFileSync(codePathOf(path));
    const code = bytes.subarray(0, -CHECKSUMS_BYTES);
    return bytes.subarray(-CHECKSUMS_BYTES).equals(checksums(source, code)) ? code : undefined;
  } catch {
    return undefined;
  }
}

/** The function that Node makes from a CommonJS module. If V8 refuses the compiled code, it compiles the source. */
export function scriptOf(path, source, code) {
  const parts = ['(function (exports, require, module, __filename, __dirname) {', source, '\n})'];
  // One flat string of one byte per character. With a string of parts, Node 24 takes 12 MB more.
  const text = Buffer.concat(parts.map((part) => Buffer.from(part))).latin1Slice();
  return new Script(text, { filename: pathToFileURL(path).href, cachedData: code });
}

/** Runs a script. `loadOther` loads the other scripts that it requires. */
export function run(script, path, loadOther) {
  const require = createRequire(path);
  const module = { exports: {} };
  const requireAny = (id) =>
    /^\..*\.cjs$/.test(id) ? loadOther(pathToFileURL(require.resolve(id))) : require(id);
  script.runInThisContext()(module.exports, requireAny, module, path, dirname(path));
  return module.exports;
}
