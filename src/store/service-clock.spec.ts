import { expect, it } from '@jest/globals';
import { SYSTEM_CLOCK } from '#store';
import type * as Module from './service-clock.js';

/** The path of the source: the path of the compiled module would give tests a clock that they can move. */
const SOURCE = './service-clock.ts';

it('the clock of a service is the system clock, and cannot be moved', async () => {
  const { serviceClock } = (await import(SOURCE)) as typeof Module;
  expect(serviceClock()).toBe(SYSTEM_CLOCK);
  expect(serviceClock().shift).toBeUndefined();
});
