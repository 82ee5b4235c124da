import type { FilterSpec, HostView } from './port/index.js';

/** The view of a host with nothing in the queue. */
export const emptyHost = ({ perHost }: Pick<FilterSpec, 'perHost'>, name: string): HostView => ({
  ...{ name, waiting: 0, leased: 0, delayed: 0, scheduled: 0, dead: 0 },
  ...(perHost?.maxUrls !== undefined && { found: 0 }),
});
