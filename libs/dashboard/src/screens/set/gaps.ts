/** A moment in a chart. Without a point, it makes a gap in the lines. */
export interface Moment<Point> {
  /** In ms since 1970. */
  readonly at: number;
  readonly point: Point | undefined;
}

/** A gap opens after this many intervals without a point. */
const GAP = 2.5;

/**
 * Inserts an empty moment between points that are too far apart. The store was unavailable in between, and a line would
 * suggest values that were never measured.
 */
export function withGaps<Point extends { readonly at: string }>(
  points: readonly Point[],
  intervalSeconds: number,
): Moment<Point>[] {
  const moments: Moment<Point>[] = [];
  for (const point of points) {
    const at = Date.parse(point.at);
    const before = moments.at(-1);
    if (before && at - before.at > GAP * intervalSeconds * 1_000)
      moments.push({ at: (before.at + at) / 2, point: undefined });
    moments.push({ at, point });
  }
  return moments;
}
