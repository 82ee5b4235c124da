/** Caches the first rows of recently used lanes. Without the cache, each read would copy and check a whole row. */
export class HeadRows {
  private readonly rows = new Map<string, { readonly number: number; readonly bytes: Buffer }>();

  /** `most`: maximum number of rows, each from a different lane. */
  constructor(private readonly most: number) {}

  get(lane: string, number: number, read: () => Buffer): Buffer {
    const known = this.rows.get(lane);
    if (known?.number === number) return known.bytes;
    const bytes = read();
    this.rows.delete(lane);
    this.rows.set(lane, { number, bytes });
    if (this.rows.size > this.most) this.forget(this.rows.keys().next().value as string);
    return bytes;
  }

  forget(lane: string): void {
    this.rows.delete(lane);
  }
}
