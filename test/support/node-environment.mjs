import { AsyncLocalStorage } from 'node:async_hooks';
import { relative } from 'node:path';
import vm from 'node:vm';
import { TestEnvironment } from 'jest-environment-node';
import { leftOpen, openHandles } from './open-handles.mjs';

/** Storages that the current file has used. */
const storages = new Set();
const { run } = AsyncLocalStorage.prototype;
AsyncLocalStorage.prototype.run = function (...args) {
  storages.add(this);
  return run.apply(this, args);
};

/** Values that test files of this worker have made. */
const made = new Map();

function onceInWorker(key, make) {
  if (!made.has(key)) {
    const value = make();
    made.set(key, value);
    // A failure is no value: the next file tries again.
    if (value instanceof Promise) value.catch(() => made.delete(key));
  }
  return made.get(key);
}

/**
 * Jest's environment for Node.js, in a context whose global is an ordinary object. Jest's own is wrapped in a proxy, and
 * each time that a module names a global (Math, Uint8Array, URL) it is looked up through interceptors: tests of pure
 * computation took up to five times the CPU time.
 *
 * Jest keeps an AsyncLocalStorage for each file, and Node.js 20 looks at all of them for each promise: tests with many
 * promises took four times the CPU time after a hundred files. So those of a file are disabled with it.
 *
 * A file that leaves timers, connections or processes behind is named: a worker that has run it does not end by itself.
 */
export default class NodeEnvironment extends TestEnvironment {
  constructor(config, context) {
    const { createContext } = vm;
    // The constructor makes the context, and has no option for its kind.
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
      process.stderr.write(`${this.file} has left open what keeps a process from ending: ${left}\n`);
  }
}
