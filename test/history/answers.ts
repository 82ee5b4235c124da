/**
 * Tells a fault when a change has just returned. At that moment, a process that dies may have confirmed more than it
 * has stored.
 */
export class Answers {
  private waiting: (() => void)[] = [];

  /** Call this when a change has returned. */
  came(): void {
    for (const resolve of this.waiting.splice(0)) resolve();
  }

  /** Resolves at the next answer, or after `ms` without one. */
  async next(ms: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.waiting.push(resolve);
      timer = setTimeout(resolve, ms);
    });
    clearTimeout(timer);
  }
}
