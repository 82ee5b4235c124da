import { SYSTEM_CLOCK, type Clock } from '#store';

/** The clock of a service. The builds that tests run have another file in place of this one. */
export const serviceClock = (): Clock => SYSTEM_CLOCK;
