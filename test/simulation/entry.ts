import type { EntryState, Priority } from '#store';

/** A queue entry and its place. */
export interface Entry {
  readonly item: string;
  readonly priority: Priority;
  /** The queue's clock when it was created. */
  readonly birth: number;
  /** In seconds. */
  discoveredAt: number;
  attempt: number;
  place:
    | { readonly in: 'line'; readonly number: number }
    | { readonly in: 'lease'; readonly lease: number; readonly index: number; until: number }
    | { readonly in: Delay; readonly number: number; readonly index: number; readonly until: number }
    | { readonly in: 'dead'; readonly number: number; readonly reason: string };
}

export type Delay = 'delay' | 'schedule';

/** Identifies an entry and its place. An extended lease is the same place. */
export function placeKey({ item, birth, place }: Entry): string {
  const { until: _, ...rest } = { until: 0, ...place };
  return JSON.stringify([item, birth, rest]);
}

const STATES: Readonly<Record<Entry['place']['in'], EntryState>> = {
  ...{ line: 'waiting', lease: 'leased', delay: 'delayed', schedule: 'scheduled', dead: 'dead' },
};

/** An entry's state as the store counts it. The store notices later that a lease or a delay has ended. */
export const stateOf = ({ place }: Entry): EntryState => STATES[place.in];

/** Orders entries as an export has them: waiting, leased, delayed, scheduled, dead letters. */
export function exportKey({ place }: Entry): number[] {
  if (place.in === 'line') return [0];
  if (place.in === 'lease') return [1, place.lease, place.index];
  if (place.in === 'dead') return [4, place.number];
  return [place.in === 'delay' ? 2 : 3, place.until, place.number, place.index];
}

/** By time, then leases first and scheduled entries last, then by numbers and places. */
export function dueKey({ place }: Entry): number[] {
  if (place.in === 'lease') return [place.until, 0, place.lease, place.index];
  if (place.in !== 'delay' && place.in !== 'schedule') return [];
  return [place.until, place.in === 'delay' ? 1 : 2, place.number, place.index];
}

export function compare(a: number[], b: number[]): number {
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return (a[i] as number) - (b[i] as number);
  return 0;
}
