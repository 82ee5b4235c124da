import type { Clock } from '#store';

/**
 * A cached value. Once it is `lifetimeMs` old, counted from the start of its read, the next call reads it again.
 * Concurrent calls share one read. Doesn't cache a failed read.
 */
export class Cached<T> {
  private current: { readonly value: Promise<T>; readonly since: number } | undefined;

  constructor(
    private readonly lifetimeMs: number,
    private readonly clock: Pick<Clock, 'monotonic'>,
    private readonly read: () => Promise<T>,
  ) {}

  get(): Promise<T> {
    const { current } = this;
    if (current && this.clock.monotonic() - current.since < this.lifetimeMs) return current.value;
    const next = { value: this.read(), since: this.clock.monotonic() };
    this.current = next;
    next.value.catch(() => {
      if (this.current === next) this.current = undefined;
    });
    return next.value;
  }

  /** Drops the cached result. Later calls won't get the result of a read that has already begun. */
  forget(): void {
    this.current = undefined;
  }
}
