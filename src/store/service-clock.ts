import { SYSTEM_CLOCK, type Clock } from '#store';

/** The clock of a service. Test builds replace this file. */
export const serviceClock = (): Clock => SYSTEM_CLOCK;
