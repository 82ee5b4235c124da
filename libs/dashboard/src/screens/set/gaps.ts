/** A moment of a chart; without a point it is a gap in its lines. */
export interface Moment<Point> {
  /** In ms since 1970. */
  readonly at: number;
  readonly point: Point | undefined;
}

/** So many intervals without a point are a gap. */
const GAP = 2.5;

/** Points with a moment of nothing between those that are too far apart: the store was away, and a line would tell a story. */
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
