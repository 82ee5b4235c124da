#!/usr/bin/env node
import { CommanderError } from 'commander';
import { Exit, exitOf, Interrupted, oneLine, reasonOf } from './ending.js';
import { Interruption } from './interruption.js';
import { commandTree, type Outcome } from './command-tree.js';

const interruption = new Interruption();
const outcome: Outcome = { exit: Exit.Done, flush: async () => undefined, listen: () => undefined };
let ignore: (() => void) | undefined;
// Not for what listens to signals itself, as the service does.
outcome.listen = () => (ignore = interruption.listen(() => process.exit(Exit.Interrupted)));

try {
  await commandTree(interruption, outcome).parseAsync(process.argv);
  await outcome.flush();
  process.exitCode = outcome.exit;
} catch (error) {
  await outcome.flush().catch(() => undefined);
  process.exitCode = ended(error);
} finally {
  ignore?.();
}
// Connections and sources that are still open are nobody's any more.
if (ignore) process.exit();

function ended(error: unknown): Exit {
  // It has said what was wrong, or what was asked for.
  if (error instanceof CommanderError) return error.exitCode === 0 ? Exit.Done : Exit.Usage;
  const interrupted = interruption.soft.aborted && !(error instanceof Interrupted);
  const exit = interrupted ? Exit.Interrupted : exitOf(error);
  if (exit === undefined) {
    process.stderr.write(
      `unseen: a defect in the program, please report it: ${error instanceof Error ? (error.stack ?? '') : String(error)}\n`,
    );
    return Exit.Defect;
  }
  process.stderr.write(`unseen: ${interrupted ? 'interrupted' : oneLine(reasonOf(error))}\n`);
  return exit;
}
