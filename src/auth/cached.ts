/**
 * A value that is read anew by whoever asks for it once it is `lifetimeMs` old, counted from when its reading began.
 * Everyone who asks meanwhile shares one reading. A reading that fails is not kept.
 */
export class Cached<T> {
  private current: { readonly value: Promise<T>; readonly since: number } | undefined;

  constructor(
    private readonly lifetimeMs: number,
    private readonly read: () => Promise<T>,
  ) {}

  get(): Promise<T> {
    const { current } = this;
    if (current && performance.now() - current.since < this.lifetimeMs) return current.value;
    const next = { value: this.read(), since: performance.now() };
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
