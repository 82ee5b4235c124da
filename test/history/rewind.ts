import { mutates, type Call } from './history.js';

/**
 * A time within which an item may return to an earlier state, with its operations' records: a failover that loses
 * writes. What calls saw stays if they ended more than `reachMs` before `start`.
 */
export interface Rewind {
  readonly start: number;
  readonly end: number;
  readonly reachMs: number;
  /** Whether reads protect nothing from loss, and only mutations do. */
  readonly evenIfRead: boolean;
}

/** A state of an item, and the earliest end of a call that saw it and so protects it. */
export interface Moment {
  readonly count: number;
  readonly records: readonly (string | undefined)[];
  readonly end: number;
}

/**
 * Whether a rewind matters. A change that is lost unseen might as well never have happened. So it matters only if a
 * mutation may be lost and an answer that does not protect it may have seen it.
 */
export function matters({ start, end, reachMs, evenIfRead }: Rewind, calls: readonly Call[]): boolean {
  const near = calls.filter((call) => call.start <= end);
  const recent = (call: Call) => call.end >= start - reachMs;
  return (
    near.some((call) => mutates(call.verb) && recent(call)) &&
    near.some((call) => call.answer !== undefined && (recent(call) || (evenIfRead && !mutates(call.verb))))
  );
}

/** The pasts that a rewind may go back to. Each ends with the moment that is then the present. */
export function restorable(past: readonly Moment[], { start, reachMs }: Rewind): (readonly Moment[])[] {
  const kept = past.findLastIndex(({ end }) => end < start - reachMs);
  return past.flatMap((_, i) => (i < kept ? [] : [past.slice(0, i + 1)]));
}

/** The moments that a coming rewind may restore when `now` follows a state; none without a rewind. */
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

/** What a failover may lose: nothing by default. */
export type Losses = Pick<Rewind, 'reachMs' | 'evenIfRead'>;

/** Redis replicates after it has answered. After this time, in ms, a replica surely has what was answered. */
export const LAST_WRITES: Losses = { reachMs: 2_000, evenIfRead: false };

/** Changes wait for a replica, but reads do not. So only changes that were not answered may be lost. */
export const UNANSWERED_WRITES: Losses = { reachMs: 0, evenIfRead: true };
