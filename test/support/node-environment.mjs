import { AsyncLocalStorage } from 'node:async_hooks';
import { relative } from 'node:path';
import vm from 'node:vm';
import { TestEnvironment } from 'jest-environment-node';
import { leftOpen, openHandles } from './open-handles.mjs';

/** The storages that the current test file has used. */
const storages = new Set();
const { run } = AsyncLocalStorage.prototype;
AsyncLocalStorage.prototype.run = function (...args) {
  storages.add(this);
  return run.apply(this, args);
};

/** Values that this worker's test files share. */
const made = new Map();

function onceInWorker(key, make) {
  if (!made.has(key)) {
    const value = make();
    made.set(key, value);
    // Don't keep a failure, so that the next file tries again.
    if (value instanceof Promise) value.catch(() => made.delete(key));
  }
  return made.get(key);
}

/**
 * Jest's environment for Node.js, with three changes:
 *
 * - The global object is ordinary. Jest wraps it in a proxy, so each reference to a global (Math, Uint8Array, URL) goes
 *   through interceptors, and tests of pure computation took up to five times the CPU time.
 * - It disables each file's AsyncLocalStorages at the end. Node.js 20 visits all storages for each promise, so after a
 *   hundred files tests with many promises took four times the CPU time.
 * - It names files that leave timers, connections or processes open, which keep the worker from exiting.
 */
export default class NodeEnvironment extends TestEnvironment {
  constructor(config, context) {
    const { createContext } = vm;
    // The constructor creates the context and has no option for its kind.
    vm.createContext = () => createContext(vm.constants.DONT_CONTEXTIFY);
    try {
      super(config, context);
    } finally {
      vm.createContext = createContext;
    }
    const { watch, watchAll } = config.globalConfig;
    this.global.importNatively = (specifier) => import(specifier);
    this.global.onceInWorker = watch || watchAll ? (_key, make) => make() : onceInWorker;
    this.file = relative(config.globalConfig.rootDir, context.testPath);
    this.openBefore = openHandles();
  }

  /** Tells tests how long they may wait (see patience.ts). */
  handleTestEvent({ name, hook, test }, { testTimeout }) {
    if (name !== 'hook_start' && name !== 'test_fn_start') return;
    this.global.endOfTest = performance.now() + ((hook ?? test).timeout ?? testTimeout);
  }

  async teardown() {
    await super.teardown();
    for (const storage of storages) storage.disable();
    storages.clear();
    const left = await leftOpen(this.openBefore);
    if (left !== '')
      process.stderr.write(`${this.file} has left handles open that keep a process from ending: ${left}\n`);
  }
}
