import { setFlagsFromString } from 'node:v8';
import { Command, Option } from 'commander';
import { visible } from '../errors/show.js';
import { VERSION } from '../version.js';
import { billOfMaterials } from './bill-of-materials.js';
import { change, type ChangingVerb } from './commands/change.js';
import { check } from './commands/check.js';
import type { Context } from './commands/context.js';
import type { ImportSetOptions } from './commands/import-set.js';
import { sync } from './commands/sync.js';
import { exportTo, importFrom } from './commands/transfer.js';
import { work } from './commands/work.js';
import { assertAvailable, contextOf, DEFAULT_URL, type GlobalOptions } from './context-of.js';
import { Exit } from './ending.js';
import { addHosts } from './host-commands.js';
import type { Interruption } from './interruption.js';
import { addKeys } from './key-commands.js';
import { addQueue } from './queue-commands.js';
import type { Runner } from './runner.js';
import { addSets } from './set-commands.js';
import { Output } from './terminal/output.js';
import { decimal, MOST, seconds, text, whole } from './values.js';

/** A command's result, for the program. */
export interface Outcome {
  exit: Exit;
  /** Resolves when all results are written. */
  flush: () => Promise<void>;
  /** Lets signals end the command. */
  listen: () => void;
}

/**
 * Node's HTTP client parses answers in WebAssembly. By default, V8 optimizes that code at the first answer, which takes
 * more CPU time than the rest of a short command. With this budget, V8 optimizes it only in commands that get many
 * answers.
 */
const V8_FLAGS = '--wasm-tiering-budget=100000000';

/** The service schedules a URL at most this far ahead: ten years of 365 days. */
const MOST_SCHEDULED = 315_360_000;

const ENVIRONMENT = `
Environment:
  UNSEEN_URL      URL of the service (default: ${DEFAULT_URL})
  UNSEEN_API_KEY  API key, if the service requires one

Exit status: 0 done; 1 check printed nothing, some entries were refused, or commands of work failed; 2 usage or file error;
3 the service could not be reached; 4 the service refused the call; 70 a defect in unseen; 130 interrupted.`;

const SOURCES = 'files, URLs, or - for stdin, with lines, sitemaps or sitemap indexes, optionally gzipped';

/** All commands of `unseen`. */
export function commandTree(interruption: Interruption, outcome: Outcome): Command {
  const program = new Command('unseen');
  /** Prints a text without a service. `flush` throws if this fails. */
  const print = (text: string) => {
    const output = new Output(process.stdout);
    outcome.flush = () => output.flush();
    void output.write(text).catch(() => undefined);
  };
  program
    .description('Have we seen this URL? The command line of the Unseen service')
    .version(VERSION)
    .option('--url <url>', 'service URL')
    .option('--json', 'print results as JSON, one per line')
    .option('--quiet', 'print no results and no progress; only set the exit status')
    .addHelpText('after', ENVIRONMENT)
    .configureOutput({ outputError: (text, write) => write(usageError(text)), writeOut: print })
    .showHelpAfterError('(add --help for the options)')
    .exitOverride();

  /** Runs a command that calls the service. */
  const run: Runner =
    (act) =>
    async (...args) => {
      outcome.listen();
      setFlagsFromString(V8_FLAGS);
      const context = contextOf(program.opts<GlobalOptions>(), interruption);
      outcome.flush = () => context.output.flush();
      await assertAvailable(context);
      // The last argument is the command itself.
      outcome.exit = await act(context, ...(args.slice(0, -1) as never[]));
    };

  program
    .command('serve')
    .description('start the service with the settings in the environment')
    .action(async () => {
      await import('../main.js');
    });

  program
    .command('sbom')
    .description('print the bill of materials of this installation: its packages, as CycloneDX')
    .action(() => print(`${JSON.stringify(billOfMaterials(), undefined, 2)}\n`));

  addSets(program, run);
  addTransfers(program, run);
  addKeys(program, run);
  addChanges(program, run);
  addQuestions(program, run);
  addQueue(program, run);
  addHosts(program, run);
  for (const group of program.commands) if (group.commands.length > 0) nameCommands(group);
  return program;
}

/** Makes errors in a group of commands name the unknown command and the known ones. */
function nameCommands(group: Command): void {
  const names = group.commands.map((command) => command.name());
  const help = `(commands of ${group.name()}: ${names.join(', ')}; add --help for the options)`;
  for (const command of [group, ...group.commands]) command.showHelpAfterError(help);
  // Commander would pass an unknown command to the default one, and refuse only the words after it.
  group.hook('preSubcommand', () => {
    const [first = '', second] = group.args;
    const isUnknown = !first.startsWith('-') && !names.includes(first);
    if (isUnknown && second !== undefined && !second.startsWith('-'))
      group.error(`error: unknown command '${first}'. Without a command, ${group.name()} takes only a set.`);
  });
}

/**
 * Escapes the arguments in commander's message, so that none of them can begin a line. Only commander's own suggestion
 * may.
 */
function usageError(text: string): string {
  const { 0: end, index } = /(\n\(Did you mean [^\n]*\))?\n$/.exec(text) ?? { 0: '', index: text.length };
  return visible(text.slice(0, index)) + end;
}

function addTransfers(program: Command, run: Runner): void {
  program
    .command('export')
    .description('export a visited set or filter to a file')
    .argument('<name>')
    .option('-o, --output <file>', 'file to write, or - for stdout', '-')
    .action(
      run((context: Context, name: string, { output }: { output: string }) =>
        exportTo(context, name, output),
      ),
    );
  program
    .command('import')
    .description('create a visited set or filter from an export')
    .argument('<file>', 'an export file, or - for stdin')
    .option('--name <name>', 'name to import it as (default: the name in the export)')
    .action(run(importFrom));
  program
    .command('import-set')
    .description('add the members of a Redis SET, even while other programs write to it')
    .argument('<name>', 'a visited set for URLs, or a filter for fingerprints')
    .requiredOption('--redis <url>', 'Redis server URL, redis:// or rediss://')
    .requiredOption('--key <key>', 'Redis key of the SET')
    .option('--parallel <calls>', 'number of parallel calls', whole(1, 16), 4)
    // Loads the Redis client only for this command.
    .action(
      run(async (context: Context, name: string, options: ImportSetOptions) =>
        (await import('./commands/import-set.js')).importSet(context, name, options),
      ),
    );
}

/** Adds sources and their options to a command. */
function fed(command: Command): Command {
  return command
    .argument('[sources...]', SOURCES)
    .addOption(
      new Option('--format <format>', 'source format').choices(['auto', 'lines', 'sitemap']).default('auto'),
    )
    .option('--parallel <calls>', 'number of parallel calls', whole(1, 16), 4);
}

/** Descriptions for commands that change data. */
const CHANGES: Readonly<Record<ChangingVerb, string>> = {
  discover: 'visit URLs from the sources and queue the new ones',
  visit: 'visit URLs from the sources',
  forget: 'forget URLs from the sources',
  add: 'add items from the sources to a filter',
  remove: "remove the sources' items from a filter",
};

function addChanges(program: Command, run: Runner): void {
  const kept = (command: Command): Command =>
    fed(command)
      .option('--checkpoint <file>', 'file for the progress of this job')
      .option('--no-checkpoint', 'save no checkpoint')
      .option('--restart', 'start over and overwrite the checkpoint');
  for (const [verb, description] of Object.entries(CHANGES) as [ChangingVerb, string][]) {
    const command = kept(program.command(verb).description(description).argument('<name>'));
    if (verb === 'forget' || verb === 'remove')
      command.option('--dry-run', 'print what the command would remove, and change nothing');
    if (verb === 'add') command.option('--only-absent', 'in a multiset, add only absent items');
    if (verb === 'discover')
      command
        .addOption(
          new Option('--priority <priority>', 'order in the queue (default: normal)').choices([
            'high',
            'normal',
            'low',
          ]),
        )
        .option(
          '--delay <time>',
          'delay before the new URLs can be leased, such as 12h or 30d',
          seconds(0, MOST_SCHEDULED),
        );
    command.action(
      run((context: Context, name: string, sources: string[], options: Parameters<typeof change>[4]) =>
        change(context, verb, name, sources, options),
      ),
    );
  }
  kept(
    program
      .command('sync')
      .description('keep the URLs or items in the sources and forget all others')
      .argument('<name>'),
  )
    .option('--capacity <items>', 'new capacity, applied on commit', whole(1, MOST))
    .option('--error-rate <rate>', 'new error rate, applied on commit', decimal(0, 1))
    .option(
      '--max-forget-share <share>',
      'maximum share of items that the sync may forget, 0 to 1',
      decimal(0, 1),
    )
    .option('--force', 'commit, no matter how many items the sync forgets')
    .option('--allow-incomplete', 'commit even if a source is empty or entries were refused')
    .option('--abandon', 'abandon the open sync and exit')
    .option('--dry-run', 'print what the command would remove, and change nothing')
    .action(run(sync));
}

/** Adds the commands that change nothing themselves. */
function addQuestions(program: Command, run: Runner): void {
  fed(
    program
      .command('check')
      .description('print the unseen URLs or items from the sources')
      .argument('<name>'),
  )
    .option('--seen', 'print the seen ones instead')
    .action(run(check));
  program
    .command('work')
    .description('run a command for each URL in the queue; exit status 0 acknowledges the URL')
    .argument('<set>')
    .requiredOption(
      '--exec <command>',
      'command that gets the URL as its last argument and in $UNSEEN_ITEM',
      text,
    )
    .option('--parallel <n>', 'number of parallel commands', whole(1, 1_000), 1)
    .option('--lease <time>', "time until other workers get a dead worker's URLs", seconds(1, 86_400), 60)
    .option(
      '--delay <time>',
      'delay before a failed URL is retried (default: 1 s, doubled each time)',
      seconds(0, 86_400),
    )
    .option(
      '--again-after <time>',
      'put acknowledged URLs back into the queue after this time, such as 12h or 30d',
      seconds(1, MOST_SCHEDULED),
    )
    .option('--until-empty', 'exit when the queue is empty, except for URLs that keep failing')
    .option(
      '--tries <n>',
      "with --until-empty: attempts before it skips a failing URL (default: the set's --max-attempts, or 5)",
      whole(1, 1_000_000),
    )
    .action(run(work));
}
