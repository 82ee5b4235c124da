import type { Clock } from '#store';

/**
 * A value that is read anew by whoever asks for it once it is `lifetimeMs` old, counted from when its reading began.
 * Everyone who asks meanwhile shares one reading. A reading that fails is not kept.
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

  /** Nobody who asks from now on is answered by a reading that has already begun. */
  forget(): void {
    this.current = undefined;
  }
}
