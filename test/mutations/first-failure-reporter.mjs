import { writeFileSync } from 'node:fs';

/** Writes a run's outcome to the file that OUTCOME names, and ends the run at the first test that fails. */
export default class FirstFailureReporter {
  passed = 0;

  onTestCaseResult(_test, { status, fullName, failureMessages }) {
    if (status === 'passed') this.passed++;
    if (status === 'failed') this.end({ failed: fullName, why: failureMessages.join('\n') });
  }

  onTestResult(_test, { testFilePath, testExecError, numFailingTests, failureMessage }) {
    if (testExecError || numFailingTests > 0)
      this.end({ failed: testFilePath, why: failureMessage ?? '', loading: true });
  }

  onRunComplete() {
    this.write({});
  }

  end(outcome) {
    this.write(outcome);
    process.exit(1);
  }

  write(outcome) {
    writeFileSync(process.env.OUTCOME, JSON.stringify({ passed: this.passed, ...outcome }));
  }
}
