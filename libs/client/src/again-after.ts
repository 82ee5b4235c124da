const MOST_SECONDS = 315_360_000;

/** A handler returns this if its URL should come back, because the page changes. Not for sets that age. */
export interface AgainAfter {
  /** 1 to 315,360,000 (ten years), rounded up. Absent: the URL leaves the queue. */
  readonly againAfterSeconds?: number | undefined;
}

/** The options for `ack`, from a handler's result. */
export function ackOf(result: unknown): { againAfterSeconds?: number } {
  if (typeof result !== 'object' || result === null || !('againAfterSeconds' in result)) return {};
  const { againAfterSeconds } = result as AgainAfter;
  if (againAfterSeconds === undefined) return {};
  if (againAfterSeconds > 0 && againAfterSeconds <= MOST_SECONDS)
    return { againAfterSeconds: Math.ceil(againAfterSeconds) };
  throw new RangeError(`againAfterSeconds must be 1 to ${MOST_SECONDS}, not ${againAfterSeconds}`);
}
