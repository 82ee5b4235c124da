import type { Death } from './attempt.js';
import { mutates, type Call } from './history.js';

/**
 * A period in which an item may return to an earlier state, including its operations' records, because a failover loses
 * writes. States seen by calls that ended more than `reachMs` before `start` stay.
 */
export interface Rewind {
  readonly start: number;
  readonly end: number;
  readonly reachMs: number;
  /** Whether a state is protected from loss by mutations only, and not by reads. */
  readonly evenIfRead: boolean;
}

/** An item's state, and when the first call that saw it, and thus protects it, ended. */
export interface Moment {
  readonly count: number;
  readonly records: readonly (string | undefined)[];
  readonly end: number;
}

/**
 * Whether a rewind matters. A change that is lost before any answer saw it might as well never have happened. So a
 * rewind matters only if it may lose a mutation that some answer saw without protecting it.
 */
export function matters({ start, end, reachMs, evenIfRead }: Rewind, calls: readonly Call[]): boolean {
  const near = calls.filter((call) => call.start <= end);
  const recent = (call: Call) => call.end >= start - reachMs;
  return (
    near.some((call) => mutates(call.verb) && recent(call)) &&
    near.some((call) => call.answer !== undefined && (recent(call) || (evenIfRead && !mutates(call.verb))))
  );
}

/** The pasts to which a rewind may return. Each ends with the moment that becomes the present. */
export function restorable(past: readonly Moment[], { start, reachMs }: Rewind): (readonly Moment[])[] {
  const kept = past.findLastIndex(({ end }) => end < start - reachMs);
  return past.flatMap((_, i) => (i < kept ? [] : [past.slice(0, i + 1)]));
}

/** The moments that a coming rewind may restore after `now` follows a state. Empty without a coming rewind. */
export function momentsAfter(
  state: { readonly past: readonly Moment[] } & Omit<Moment, 'end'>,
  now: Moment,
  coming: Rewind | undefined,
): readonly Moment[] {
  if (coming === undefined) return [];
  const before = state.past.length > 0 ? state.past : [{ count: 0, records: [], end: Infinity }];
  const same = now.count === state.count && now.records === state.records;
  const last = before.at(-1) as Moment;
  const past = same
    ? [...before.slice(0, -1), { ...last, end: Math.min(last.end, now.end) }]
    : [...before, now];
  const kept = past.findLastIndex(({ end }) => end < coming.start - coming.reachMs);
  return past.slice(Math.max(0, kept));
}

/** The data that a failover may lose. None by default. */
export type Losses = Pick<Rewind, 'reachMs' | 'evenIfRead'>;

/**
 * How long before a death confirmed changes may be lost, in ms. On a busy machine, the replica may have been held back
 * for longer than `reachMs`.
 */
export function reachOf({ reachMs }: Losses, { diedAt, heldAt = diedAt }: Death): number {
  return reachMs === 0 ? 0 : Math.max(reachMs, diedAt - heldAt);
}

/** Redis replicates after it answers. `reachMs` after an answer, a replica certainly has the change. */
export const LAST_WRITES: Losses = { reachMs: 2_000, evenIfRead: false };

/** Changes wait for a replica and reads don't, so only unconfirmed changes may be lost. */
export const UNANSWERED_WRITES: Losses = { reachMs: 0, evenIfRead: true };
