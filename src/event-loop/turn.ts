import { TurnBudget } from './turn-budget.js';

const MS_A_TURN = 10;

/**
 * How many bytes or characters work may process without asking. URL rules and the JSON parser take at most a few
 * milliseconds for this many.
 */
export const PORTION = 8 * 1024;

/**
 * The budget for the process's event loop: `if (turn.isSpent()) await turn.next();` before each piece after the first
 * PORTION.
 */
export const turn = new TurnBudget(MS_A_TURN);
