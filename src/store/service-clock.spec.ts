import { expect, it } from '@jest/globals';
import { SYSTEM_CLOCK } from '#store';
import type * as Module from './service-clock.js';

/** The name of the source: by that of the module, tests get a clock that they can move. */
const SOURCE = './service-clock.ts';

it('the clock of a service is that of the machine, and nothing moves it', async () => {
  const { serviceClock } = (await import(SOURCE)) as typeof Module;
  expect(serviceClock()).toBe(SYSTEM_CLOCK);
  expect(serviceClock().shift).toBeUndefined();
});
