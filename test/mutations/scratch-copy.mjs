import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';

const COMPILE_MS = 120_000;
const NOT_COPIED = new Set(['node_modules', 'dist', 'data', 'coverage', '.git']);
const KERNEL = 'libs/bloom/kernel/';
const KERNEL_BINARY = 'libs/bloom/src/kernel-binary.ts';
const JEST = [
  '--experimental-vm-modules',
  '--disable-warning=ExperimentalWarning',
  'node_modules/jest/bin/jest.js',
];
/** Ends each run at its first failure, and records which test failed. */
const REPORTER = 'test/mutations/first-failure-reporter.mjs';

/**
 * A copy of the sources to be mutated, so the checkout is never touched. Everything that its tests leave behind is in
 * it.
 */
export class ScratchCopy {
  constructor(root) {
    this.folder = mkdtempSync(join(tmpdir(), 'unseen-mutate-'));
    cpSync(root, this.folder, {
      recursive: true,
      filter: (path) => !NOT_COPIED.has(relative(root, path)),
    });
    symlinkSync(resolve(root, 'node_modules'), join(this.folder, 'node_modules'));
    this.temporary = join(this.folder, 'tmp');
    this.cache = join(this.folder, 'cache');
  }

  /** Applies a mutation while `work` runs. The kernel is compiled again with it. */
  async mutated({ path, before, after }, work) {
    const file = join(this.folder, path);
    const binary = join(this.folder, KERNEL_BINARY);
    const [source, compiled] = [readFileSync(file, 'utf8'), readFileSync(binary, 'utf8')];
    writeFileSync(
      file,
      source.replace(before, () => after),
    );
    try {
      if (path.startsWith(KERNEL)) await this.compileKernel();
      return await work();
    } finally {
      writeFileSync(file, source);
      writeFileSync(binary, compiled);
    }
  }

  /**
   * Runs jest with these arguments. Resolves with the reporter's result: how many tests passed, which failed first
   * and why. Undefined if it took longer than `limitMs`.
   */
  async test(words, limitMs) {
    rmSync(this.temporary, { recursive: true, force: true });
    mkdirSync(this.temporary);
    const outcome = join(this.temporary, 'outcome.json');
    // A list of reporters ends at the next option.
    const options = [
      '--reporters',
      join(this.folder, REPORTER),
      '--runInBand',
      '--cacheDirectory',
      this.cache,
      // Let a test that waits in vain fail, and name the missing event, before the limit ends the run.
      '--testTimeout',
      String(limitMs / 2),
    ];
    const code = await this.run([...JEST, ...options, ...words], limitMs, {
      OUTCOME: outcome,
      TMPDIR: this.temporary,
    });
    if (code === undefined) return undefined;
    if (!existsSync(outcome))
      return { passed: 0, failed: 'the run itself, which found no test or broke off' };
    return JSON.parse(readFileSync(outcome, 'utf8'));
  }

  remove() {
    rmSync(this.folder, { recursive: true, force: true });
  }

  async compileKernel() {
    if ((await this.run(['scripts/kernel.mjs'], COMPILE_MS, {})) !== 0)
      throw new Error('the kernel does not compile');
  }

  /** The exit code, or undefined if it took too long. Every process that it started ends with it. */
  async run(words, limitMs, environment) {
    const env = { ...process.env, ...environment };
    const child = spawn(process.execPath, words, { cwd: this.folder, env, stdio: 'ignore', detached: true });
    let inTime = true;
    const killGroup = () => {
      try {
        process.kill(-child.pid, 'SIGKILL');
      } catch {
        // The process has already ended, with all processes that it started.
      }
    };
    const timer = setTimeout(() => {
      inTime = false;
      killGroup();
    }, limitMs);
    process.once('exit', killGroup);
    const [code] = await once(child, 'exit');
    clearTimeout(timer);
    killGroup();
    process.off('exit', killGroup);
    return inTime ? code : undefined;
  }
}
