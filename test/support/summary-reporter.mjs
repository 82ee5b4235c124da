/** Ends a run with one plain line, "12 passed, 0 failed", for programs that read it. */
export default class SummaryReporter {
  /** @param {import('@jest/reporters').AggregatedResult} results */
  onRunComplete(_contexts, results) {
    const skipped = results.numPendingTests + results.numTodoTests;
    // A file that did not even load has failed, though it counts no test.
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    const counts = [`${results.numPassedTests} passed`, `${failed} failed`];
    if (skipped > 0) counts.push(`${skipped} skipped`);
    process.stdout.write(`${counts.join(', ')}\n`);
  }
}
