/** The limit outside Jest, as in `npm run history`. */
const WITHOUT_A_TEST_MS = 90_000;
/** A wait fails this long before the test's time limit. Jest then reports the missing event, not the time limit. */
const TO_REPORT_MS = 5_000;

/**
 * How long the running test or hook may still wait, in whole ms: until shortly before Jest ends it. Single waits have
 * no limits, because no limit suits every machine.
 */
export function patienceMs(): number {
  const { endOfTest } = globalThis;
  return endOfTest === undefined
    ? WITHOUT_A_TEST_MS
    : Math.max(0, Math.floor(endOfTest - performance.now()) - TO_REPORT_MS);
}
