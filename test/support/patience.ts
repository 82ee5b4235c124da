/** Outside Jest, as in `npm run history`. */
const WITHOUT_A_TEST_MS = 90_000;
/** Left to a test after a wait has failed, so that Jest reports what the test waited for, not its own time limit. */
const TO_REPORT_MS = 5_000;

/**
 * How many whole ms the running test or hook may still wait: until shortly before Jest ends it. A wait for an event
 * has no limit of its own, because no limit is right for every machine.
 */
export function patienceMs(): number {
  const { endOfTest } = globalThis;
  return endOfTest === undefined
    ? WITHOUT_A_TEST_MS
    : Math.max(0, Math.floor(endOfTest - performance.now()) - TO_REPORT_MS);
}
