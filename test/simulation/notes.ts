/** What a history did: for people, and to know which rules have been exercised. */
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

/** The store broke a promise. */
export class Violation extends Error {}
