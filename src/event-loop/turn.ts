import { TurnBudget } from './turn-budget.js';

const MS_A_TURN = 10;

/**
 * Bytes, or characters, that are worked on without asking. What the rules of URLs or JSON make of so many takes at most
 * some milliseconds.
 */
export const PORTION = 8 * 1024;

/** One event loop, one budget: `if (turn.isSpent()) await turn.next();` before each piece beyond the first PORTION. */
export const turn = new TurnBudget(MS_A_TURN);
