/** A history's trace for people, and counts of the rules that it exercised. */
export class Notes {
  readonly trace: string[] = [];
  readonly exercised = new Map<string, number>();

  note(line: string): void {
    this.trace.push(line);
  }

  tally(rule: string): void {
    this.exercised.set(rule, (this.exercised.get(rule) ?? 0) + 1);
  }
}

/** The store broke a guarantee. */
export class Violation extends Error {}
