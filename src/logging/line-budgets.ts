import { SYSTEM_CLOCK } from '#store';
import { LineBudget } from './line-budget.js';

/** Maximum number of budgets. */
const MOST_KEYS = 1_000;

/**
 * A line budget for each key, such as a caller, so that one key doesn't use up the others' budget. While MOST_KEYS keys
 * have lines or left-out lines, all other keys share one budget.
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

  /** If a line is allowed now, how many of the key's lines were left out since its last one. Otherwise undefined. */
  take(key: string, now = SYSTEM_CLOCK.monotonic()): number | undefined {
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
