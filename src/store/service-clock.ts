import { SYSTEM_CLOCK, type Clock } from '#store';

/** A service's clock. Test builds replace this file. */
export const serviceClock = (): Clock => SYSTEM_CLOCK;
