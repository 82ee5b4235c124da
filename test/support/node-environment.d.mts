declare global {
  /**
   * Node's own import, once for each worker. Jest loads packages anew for each test file. Objects from here belong to
   * Node's realm: `instanceof` with the globals of a test is false, but Jest's matchers accept them.
   */
  function importNatively(specifier: string): Promise<unknown>;

  /**
   * Makes a value once for all test files of a worker. Only for a value that is the same for each of them and that no
   * test changes. In watch mode it is made for each file, because sources change between runs. Absent outside Jest.
   */
  var onceInWorker: (<T>(key: string, make: () => T) => T) | undefined;

  /** When Jest ends the running test or hook, by performance.now(). Absent outside Jest. */
  var endOfTest: number | undefined;
}

export {};
