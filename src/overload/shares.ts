/** How many places each caller holds, of those that one may. */
export class Shares {
  private readonly held = new Map<string, number>();

  constructor(readonly most: number) {}

  hasRoom(caller: string): boolean {
    return (this.held.get(caller) ?? 0) < this.most;
  }

  /** Takes a place, room or not. */
  take(caller: string): void {
    this.held.set(caller, (this.held.get(caller) ?? 0) + 1);
  }

  give(caller: string): void {
    const left = (this.held.get(caller) ?? 0) - 1;
    if (left > 0) this.held.set(caller, left);
    else this.held.delete(caller);
  }
}
