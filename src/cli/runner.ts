import type { Context } from './commands/context.js';
import type { Exit } from './ending.js';

/** Parsed arguments and options. Their types follow from the command's declaration. */
export type Act = (context: Context, ...args: never[]) => Promise<Exit>;
export type Runner = (act: Act) => (...args: unknown[]) => Promise<void>;
