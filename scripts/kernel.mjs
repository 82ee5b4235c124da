/**
 * Compiles libs/bloom/kernel and writes libs/bloom/src/kernel-binary.ts. With --check it writes nothing, and exits 1 if
 * that file doesn't match the sources.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import asc from 'assemblyscript/asc';
import { format } from './format.mjs';

const SOURCE = 'libs/bloom/kernel/index.ts';
const TARGET = 'libs/bloom/src/kernel-binary.ts';
const OPTIONS = ['-O3', '--noAssert', '--runtime', 'stub', '--importMemory'];

const { error, stderr, files } = await compile();
if (error) {
  console.error(`${SOURCE} does not compile: ${error.message}\n${stderr}`);
  process.exit(1);
}
const text = await format(TARGET, moduleOf(files.get('kernel.wasm')));
if (!process.argv.includes('--check')) {
  writeFileSync(TARGET, text);
} else if (readFileSync(TARGET, 'utf8') !== text) {
  console.error(`${TARGET} does not match ${SOURCE}; run: npm run kernel`);
  process.exitCode = 1;
}

async function compile() {
  const files = new Map();
  const result = await asc.main([SOURCE, '-o', 'kernel.wasm', ...OPTIONS], {
    writeFile: (name, contents) => void files.set(name, contents),
  });
  return { error: result.error, stderr: result.stderr.toString(), files };
}

function moduleOf(binary) {
  const base64 = Buffer.from(binary).toString('base64');
  const lines = base64.match(/.{1,100}/g).map((line) => `'${line}'`);
  return [
    '// Generated from libs/bloom/kernel by `npm run kernel`. Do not edit.',
    '',
    '/** The WebAssembly module of the kernel, in base64. */',
    `export const KERNEL_BINARY = [${lines.join(',')}].join('');`,
    '',
  ].join('\n');
}
