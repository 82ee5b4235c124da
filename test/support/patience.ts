/** Outside Jest, as in `npm run history`. */
const WITHOUT_A_TEST_MS = 90_000;
/** What is left to a test whose waiting has failed, so that Jest reports what it waited for and not its own limit. */
const TO_REPORT_MS = 5_000;

/**
 * For how many whole ms the running test or hook may wait: until shortly before Jest ends it. Waiting for an event has no limit of
 * its own, because none is right for every machine.
 */
export function patienceMs(): number {
  const { endOfTest } = globalThis;
  return endOfTest === undefined
    ? WITHOUT_A_TEST_MS
    : Math.max(0, Math.floor(endOfTest - performance.now()) - TO_REPORT_MS);
}
