import { expect, it } from '@jest/globals';
import { SYSTEM_CLOCK } from '#store';
import type * as Module from './service-clock.js';

/** Imports the source itself, because the compiled module would give tests a clock that they can move. */
const SOURCE = './service-clock.ts';

it('a service’s clock is the system clock, which cannot be moved', async () => {
  const { serviceClock } = (await import(SOURCE)) as typeof Module;
  expect(serviceClock()).toBe(SYSTEM_CLOCK);
  expect(serviceClock().shift).toBeUndefined();
});
