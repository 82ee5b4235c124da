import { CommanderError } from 'commander';
import { Exit, exitOf, Interrupted, lines, oneLine, reasonOf } from './ending.js';
import { Interruption } from './interruption.js';
import { commandTree, type Outcome } from './command-tree.js';

/** Runs the command in the process's arguments, and sets the process's exit status. */
export async function runCommandLine(): Promise<void> {
  const interruption = new Interruption();
  const outcome: Outcome = { exit: Exit.Done, flush: async () => undefined, listen: () => undefined };
  let ignore: (() => void) | undefined;
  // Commands that handle signals themselves, like the service, never call this.
  outcome.listen = () => (ignore = interruption.listen(() => process.exit(Exit.Interrupted)));

  try {
    await commandTree(interruption, outcome).parseAsync(process.argv);
    await outcome.flush();
    process.exitCode = outcome.exit;
  } catch (error) {
    const failure = await outcome.flush().catch((unwritten: unknown) => unwritten);
    process.exitCode = ended(isDone(error) ? (failure ?? error) : error, interruption);
  } finally {
    ignore?.();
  }
  // Open connections and sources would keep the process alive.
  if (ignore) process.exit();
}

/** True if commander has printed the help or the version. */
function isDone(error: unknown): boolean {
  return error instanceof CommanderError && error.exitCode === 0;
}

function ended(error: unknown, { soft }: Interruption): Exit {
  // Commander has already printed the error or the help.
  if (error instanceof CommanderError) return isDone(error) ? Exit.Done : Exit.Usage;
  const interrupted = soft.aborted && !(error instanceof Interrupted);
  const exit = interrupted ? Exit.Interrupted : exitOf(error);
  if (exit === undefined) {
    const shown = error instanceof Error ? (error.stack ?? '') : String(error);
    process.stderr.write(`unseen: a defect in the program, please report it: ${lines(shown)}\n`);
    return Exit.Defect;
  }
  process.stderr.write(`unseen: ${interrupted ? 'interrupted' : oneLine(reasonOf(error))}\n`);
  return exit;
}
