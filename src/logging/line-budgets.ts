import { LineBudget } from './line-budget.js';

/** Budgets that are kept at most. */
const MOST_KEYS = 1_000;

/**
 * A line budget for each key, such as a caller: so that the lines that one causes take none from others. Beyond
 * MOST_KEYS keys that have lines or left-out ones to their name, all others share one budget.
 */
export class LineBudgets {
  private readonly budgets = new Map<string, LineBudget>();
  private readonly rest: LineBudget;

  constructor(
    private readonly most: number,
    private readonly spanMs: number,
  ) {
    this.rest = new LineBudget(most, spanMs);
  }

  /** As that of the key's own budget: how many of its lines were left out since its last one, if there is room for one. */
  take(key: string, now = performance.now()): number | undefined {
    return (this.budgets.get(key) ?? this.add(key, now)).take(now);
  }

  private add(key: string, now: number): LineBudget {
    if (this.budgets.size >= MOST_KEYS) this.dropUnused(now);
    if (this.budgets.size >= MOST_KEYS) return this.rest;
    const budget = new LineBudget(this.most, this.spanMs);
    this.budgets.set(key, budget);
    return budget;
  }

  private dropUnused(now: number): void {
    for (const [key, budget] of this.budgets) if (budget.isUnused(now)) this.budgets.delete(key);
  }
}
