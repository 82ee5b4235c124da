import type { HostView } from '../../port/index.js';
import type { HostLane, Period } from './host-lane.js';

/** The times that a view depends on. */
export interface ViewTimes {
  /** In ms since the epoch. */
  readonly clock: number;
  /** How far the queue's time is ahead of the clock. */
  readonly ahead: number;
  /** Set if the queue counts each host's URLs. */
  readonly period: Period | undefined;
}

/** A host as callers see it. Undefined for a lane that only remembers when its host is due. */
export function hostViewOf(lane: HostLane, { clock, ahead, period }: ViewTimes): HostView | undefined {
  const { name, waiting, leased, delayed, scheduled, dead, dueAt, own, blockedUntil } = lane;
  const found = period && lane.foundIn(period);
  const isBlocked = blockedUntil > clock;
  if (lane.held === 0 && !found && !own && !isBlocked) return undefined;
  return {
    ...{ name, waiting, leased, delayed, scheduled, dead },
    ...(found !== undefined && { found }),
    ...(waiting > 0 && dueAt > 0 && { nextAt: Math.max(0, dueAt - ahead) }),
    ...(isBlocked && { blockedUntil }),
    ...(own && { own }),
  };
}
