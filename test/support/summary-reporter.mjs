import { relative } from 'node:path';

/** The number of slowest files that a longer run lists. */
const LONGEST = 25;

/**
 * Ends a run with its slowest files, a line for each failed test, and a plain line such as "12 passed, 0 failed". This
 * is for programs, and for people who read only the end of a log.
 */
export default class SummaryReporter {
  /**
   * @param {unknown} _contexts
   * @param {import('@jest/reporters').AggregatedResult} results
   */
  onRunComplete(_contexts, results) {
    if (results.testResults.length > LONGEST) process.stdout.write(`${longestOf(results.testResults)}\n`);
    for (const file of results.testResults)
      for (const line of failuresOf(file)) process.stdout.write(`${line}\n`);
    const skipped = results.numPendingTests + results.numTodoTests;
    // A file that failed to load counts as a failure, though it has no tests.
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    const counts = [`${results.numPassedTests} passed`, `${failed} failed`];
    if (skipped > 0) counts.push(`${skipped} skipped`);
    process.stdout.write(`${counts.join(', ')}\n`);
  }
}

/** @param {import('@jest/test-result').TestResult[]} files */
function longestOf(files) {
  const sorted = files.toSorted((a, b) => b.perfStats.runtime - a.perfStats.runtime).slice(0, LONGEST);
  const told = sorted.map(
    ({ testFilePath, perfStats }) =>
      `${(perfStats.runtime / 1_000).toFixed(1).padStart(7)} s  ${relative(process.cwd(), testFilePath)}`,
  );
  return ['The files that took longest:', ...told].join('\n');
}

/** @param {import('@jest/test-result').TestResult} file */
function failuresOf({ testFilePath, testExecError, testResults }) {
  const path = relative(process.cwd(), testFilePath);
  if (testExecError) return [`✕ ${path}: ${firstLine(testExecError.message)}`];
  return testResults
    .filter(({ status }) => status === 'failed')
    .map(({ fullName, failureMessages }) => `✕ ${path} › ${fullName}: ${firstLine(failureMessages[0])}`);
}

const COLOURS = /\u001b\[\d+m/g;

function firstLine(message = '') {
  return message.replace(COLOURS, '').split('\n', 1)[0].slice(0, 160);
}
