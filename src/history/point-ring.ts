/** A point's figures, each in its own column. `at` is in ms since the epoch. */
const COLUMNS = [
  ...(['at', 'items', 'fill', 'estimatedErrorRate', 'added', 'duplicate', 'removed', 'refused'] as const),
  ...(['waiting', 'leased', 'delayed', 'scheduled', 'dead'] as const),
];

type Column = (typeof COLUMNS)[number];

export type Point = Readonly<Record<Column, number>>;

/** A filter's last points, oldest first. All memory is allocated at the start. */
export class PointRing {
  private readonly columns: Readonly<Record<Column, Float64Array>>;
  private length = 0;
  private next = 0;

  constructor(private readonly size: number) {
    const columns = COLUMNS.map((name) => [name, new Float64Array(size)]);
    this.columns = Object.fromEntries(columns) as Record<Column, Float64Array>;
  }

  push(point: Point): void {
    for (const name of COLUMNS) this.columns[name][this.next] = point[name];
    this.next = (this.next + 1) % this.size;
    this.length = Math.min(this.length + 1, this.size);
  }

  /** Points no older than `time`, in ms since the epoch. */
  from(time: number): Point[] {
    const first = this.next - this.length + this.size;
    const places = Array.from({ length: this.length }, (_, n) => (first + n) % this.size);
    return places
      .filter((place) => (this.columns.at[place] as number) >= time)
      .map((place) => {
        const point = COLUMNS.map((name) => [name, this.columns[name][place]]);
        return Object.fromEntries(point) as Point;
      });
  }
}
