import type { TestApp } from '../support/app.js';
import { until } from '../support/until.js';

/** Resolves once `count` leases wait. */
export async function leasesWaiting(app: TestApp, count: number): Promise<void> {
  await until(`${count} leases wait`, async () => {
    const text = await (await fetch(`${app.url}/metrics`)).text();
    return text.includes(`\nunseen_leases_waiting ${count}\n`);
  });
}
