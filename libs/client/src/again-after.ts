const MOST_SECONDS = 315_360_000;

/** Returned by a handler whose URL should come back, because its page changes. Not for sets that age. */
export interface AgainAfter {
  /** 1 to 315,360,000, ten years; rounded up. Absent: the URL leaves the queue. */
  readonly againAfterSeconds?: number | undefined;
}

/** The options of the `ack` that the result of a handler requires. */
export function ackOf(result: unknown): { againAfterSeconds?: number } {
  if (typeof result !== 'object' || result === null || !('againAfterSeconds' in result)) return {};
  const { againAfterSeconds } = result as AgainAfter;
  if (againAfterSeconds === undefined) return {};
  if (againAfterSeconds > 0 && againAfterSeconds <= MOST_SECONDS)
    return { againAfterSeconds: Math.ceil(againAfterSeconds) };
  throw new RangeError(`againAfterSeconds must be 1 to ${MOST_SECONDS}, not ${againAfterSeconds}`);
}
