import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { transformSync } from '@swc/core';

const LIBRARIES = ['libs/bloom/src', 'libs/store/src'];
/** Files that the embedded store doesn't need. */
const OTHERS = /^redis\//;

/** Compiles the embedded store into `target`, so that a spec can run it in a separate process without building. */
export function compileInto(target: string): void {
  const compiled = { '#bloom': './libs/bloom/src/index.js', '#store': './libs/store/src/index.js' };
  mkdirSync(target, { recursive: true });
  writeFileSync(join(target, 'package.json'), JSON.stringify({ type: 'module', imports: compiled }));
  symlinkSync(resolve('node_modules'), join(target, 'node_modules'));
  for (const library of LIBRARIES) {
    for (const name of readdirSync(library, { recursive: true, encoding: 'utf8' })) {
      if (OTHERS.test(name) || !/(?<!\.spec|\.d)\.ts$/.test(name)) continue;
      const { code } = transformSync(readFileSync(join(library, name), 'utf8'), {
        filename: name,
        jsc: { target: 'es2023', parser: { syntax: 'typescript' } },
        module: { type: 'es6' },
      });
      const to = join(target, library, name.replace(/\.ts$/, '.js'));
      mkdirSync(dirname(to), { recursive: true });
      writeFileSync(to, code);
    }
  }
}
