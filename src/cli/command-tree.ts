import { Command, Option } from 'commander';
import { change, type ChangingVerb } from './commands/change.js';
import { check } from './commands/check.js';
import type { Context } from './commands/context.js';
import type { ImportSetOptions } from './commands/import-set.js';
import { createKey, listKeys, revokeKey, type KeyOptions } from './commands/keys.js';
import { create, empty, list, plan, showOne } from './commands/sets.js';
import { sync } from './commands/sync.js';
import { exportTo, importFrom } from './commands/transfer.js';
import { work } from './commands/work.js';
import { contextOf, DEFAULT_URL, type GlobalOptions } from './context-of.js';
import { Ending, Exit } from './ending.js';
import type { Interruption } from './interruption.js';
import type { OfflineKeys } from './offline-keys.js';
import { decimal, seconds, whole } from './values.js';

/** What a command leaves behind for the program. */
export interface Outcome {
  exit: Exit;
  /** Resolves when all results are written. */
  flush: () => Promise<void>;
  /** Have signals end the command. */
  listen: () => void;
}

/** That of package.json. */
export const VERSION = '0.1.0';

const MOST = Number.MAX_SAFE_INTEGER;
const YEARS_10 = 315_576_000;

const ENVIRONMENT = `
Environment:
  UNSEEN_URL      the service (${DEFAULT_URL})
  UNSEEN_API_KEY  the key, if the service wants one

Exit status: 0 done; 1 check printed nothing, or some items were refused; 2 the call is not understood; 3 the service was
not reached; 4 the service refused; 130 interrupted.`;

const SOURCES = 'files, URLs, or - for stdin: lines, sitemaps or sitemap indexes, gzip or not';

/** All commands of `unseen`. */
export function commandTree(interruption: Interruption, outcome: Outcome): Command {
  const program = new Command('unseen');
  program
    .description('Have we seen this URL? The command line of the Unseen service')
    .version(VERSION)
    .option('--url <url>', 'the service')
    .option('--json', 'results as JSON, one a line')
    .option('--quiet', 'no results and no progress, only the exit status')
    .addHelpText('after', ENVIRONMENT)
    .showHelpAfterError('(add --help for the options)')
    .exitOverride();

  /** Runs a command that asks the service. */
  const run: Runner =
    (act) =>
    async (...args) => {
      outcome.listen();
      const context = contextOf(program.opts<GlobalOptions>(), interruption);
      outcome.flush = () => context.output.flush();
      // A service that is away is told at once. One that goes away later is waited for.
      await context.client.ready({ signal: interruption.soft });
      // The last argument is the command itself.
      outcome.exit = await act(context, ...(args.slice(0, -1) as never[]));
    };

  program
    .command('serve')
    .description('start the service, with the settings of the environment')
    .action(async () => {
      await import('../main.js');
    });

  addSets(program, run);
  addTransfers(program, run);
  addKeys(program, run);
  addChanges(program, run);
  addQuestions(program, run);
  return program;
}

/** Arguments and options as commander has read them: their types are those that the command was declared with. */
type Act = (context: Context, ...args: never[]) => Promise<Exit>;
type Runner = (act: Act) => (...args: unknown[]) => Promise<void>;

/** What there is. */
function addSets(program: Command, run: Runner): void {
  const shape = (command: Command): Command =>
    command
      .addOption(new Option('--growth <growth>', 'when it is full').choices(['auto', 'none']))
      .option(
        '--max-age <time>',
        'a set that forgets what was not seen for so long: 12h, 30d',
        seconds(10, YEARS_10),
      );
  shape(
    program
      .command('create')
      .description('make a visited set, or a filter with --type; one that is there already is left as it is')
      .argument('<name>')
      .requiredOption('--capacity <items>', 'how many it is to hold', whole(1, MOST))
      .option('--error-rate <rate>', 'promised share of false positives (sets: 1e-4)', decimal(0, 1))
      .addOption(new Option('--type <type>', 'a filter of any strings').choices(['counting', 'standard']))
      .addOption(new Option('--semantics <semantics>', 'of a counting filter').choices(['set', 'multiset']))
      .option('--url-profile <profile>', 'which spellings are one URL: a name, or rules as JSON')
      .option('--max-attempts <n>', 'leases of a URL before it is a dead letter', whole(1, 1_000_000)),
  ).action(run(create));
  program.command('list').description('all visited sets and filters').action(run(list));
  program.command('show').description('describe one').argument('<name>').action(run(showOne));
  for (const verb of ['clear', 'drop'] as const) {
    program
      .command(verb)
      .description(verb === 'clear' ? 'take everything out of one' : 'take one away, with everything in it')
      .argument('<name>')
      .option('--dry-run', 'say what would go, and do nothing')
      .action(
        run((context: Context, name: string, options: { dryRun?: boolean }) =>
          empty(context, verb, name, options),
        ),
      );
  }
  shape(
    program
      .command('plan')
      .description('what a set or filter would take')
      .requiredOption('--capacity <items>', 'how many it is to hold', whole(1, MOST))
      .option('--error-rate <rate>', 'promised share of false positives', decimal(0, 1), 1e-4)
      .addOption(
        new Option('--type <type>', 'a filter; a standard one cannot forget').choices([
          'counting',
          'standard',
        ]),
      ),
  ).action(run(plan));
}

function addTransfers(program: Command, run: Runner): void {
  program
    .command('export')
    .description('write one to a file')
    .argument('<name>')
    .option('-o, --output <file>', 'the file', '-')
    .action(
      run((context: Context, name: string, { output }: { output: string }) =>
        exportTo(context, name, output),
      ),
    );
  program
    .command('import')
    .description('make one of an export')
    .argument('<file>', 'an export, or - for stdin')
    .option('--name <name>', 'another name than that it was exported under')
    .action(run(importFrom));
  program
    .command('import-set')
    .description('mark the members of a Redis SET as seen, while others go on writing it')
    .argument('<name>', 'a visited set, for URLs, or a filter, for fingerprints')
    .requiredOption('--redis <url>', 'where the SET is: redis:// or rediss://')
    .requiredOption('--key <key>', 'of the SET')
    .option('--parallel <calls>', 'calls at once', whole(1, 16), 4)
    // The client of Redis is loaded only for this.
    .action(
      run(async (context: Context, name: string, options: ImportSetOptions) =>
        (await import('./commands/import-set.js')).importSet(context, name, options),
      ),
    );
}

/** A command that reads sources. */
function fed(command: Command): Command {
  return command
    .argument('[sources...]', SOURCES)
    .addOption(
      new Option('--format <format>', 'what sources are')
        .choices(['auto', 'lines', 'sitemap'])
        .default('auto'),
    )
    .option('--parallel <calls>', 'calls at once', whole(1, 16), 4);
}

/** What sources are to change. */
const CHANGES: Readonly<Record<ChangingVerb, string>> = {
  discover: 'mark the URLs of sources as seen, and put the new ones into the queue',
  visit: 'mark the URLs of sources as seen',
  forget: 'make the URLs of sources unseen',
  add: 'add the items of sources to a filter',
  remove: 'remove the items of sources from a filter',
};

function addChanges(program: Command, run: Runner): void {
  const kept = (command: Command): Command =>
    fed(command)
      .option('--checkpoint <file>', 'where to keep how far it has come (a file of its own for each job)')
      .option('--no-checkpoint', 'keep nothing')
      .option('--restart', 'start over, ignoring the checkpoint');
  for (const [verb, description] of Object.entries(CHANGES) as [ChangingVerb, string][]) {
    const command = kept(program.command(verb).description(description).argument('<name>'));
    if (verb === 'forget' || verb === 'remove')
      command.option('--dry-run', 'say what would go, and do nothing');
    command.action(
      run((context: Context, name: string, sources: string[], options: Parameters<typeof change>[4]) =>
        change(context, verb, name, sources, options),
      ),
    );
  }
  kept(program.command('sync').description('forget whatever the sources do not list').argument('<name>'))
    .option('--capacity <items>', 'new capacity, applied on commit', whole(1, MOST))
    .option('--error-rate <rate>', 'new error rate, applied on commit', decimal(0, 1))
    .option('--max-forget-share <share>', 'forget no more than this share, 0 to 1', decimal(0, 1))
    .option('--force', 'forget however much it is')
    .option('--allow-incomplete', 'commit even if a source is empty or entries were refused')
    .option('--abandon', 'abandon the open sync and exit')
    .option('--dry-run', 'say what would go, and do nothing')
    .action(run(sync));
}

/** Those that change nothing by themselves. */
function addQuestions(program: Command, run: Runner): void {
  fed(
    program
      .command('check')
      .description('print the items of sources that are unseen, as grep prints lines')
      .argument('<name>'),
  )
    .option('--seen', 'print those that are seen instead')
    .action(run(check));
  program
    .command('work')
    .description('run a command for each URL of the queue: exit status 0 acknowledges it')
    .argument('<set>')
    .requiredOption('--exec <command>', 'gets the URL as its last argument, and as $UNSEEN_ITEM')
    .option('--parallel <n>', 'commands at once', whole(1, 1_000), 1)
    .option('--lease <time>', 'how long the URLs of a worker that dies are away', seconds(1, 86_400), 60)
    .option(
      '--delay <time>',
      'delay before a URL that failed is retried (1 s, doubled each time)',
      seconds(0, 86_400),
    )
    .option('--until-empty', 'end when nothing is left but URLs that always fail')
    .option(
      '--tries <n>',
      'with --until-empty: attempts of a URL that fails (--max-attempts of the set, or 5)',
      whole(1, 1_000_000),
    )
    .action(run(work));
}

function addKeys(program: Command, run: Runner): void {
  const keys = program
    .command('keys')
    .description('API keys: of the running service, or with --offline of the store that the settings name')
    .option('--offline', 'open the store; the embedded one while the service is stopped');
  const either =
    (online: Act, offline: (...args: never[]) => OfflineKeys) =>
    async (...args: unknown[]): Promise<void> => {
      if (keys.opts<{ offline?: boolean }>().offline !== true) return run(online)(...args);
      // The store and its frameworks are loaded only for this.
      const { offlineKeys } = await import('./offline-keys.js');
      const failure = await offlineKeys(offline(...(args as never[])));
      if (failure) throw new Ending(failure.exit, failure.message);
    };
  keys
    .command('create')
    .description('make a key, and print it this once')
    .requiredOption('--name <name>', 'what people call it')
    .requiredOption('--scope <scope...>', 'read, write (includes read) or admin (includes write)')
    .option('--prefix <prefix>', 'for names that begin with it only')
    .option('--max-filters <n>', 'filters and sets there may be of the prefix', whole(1, MOST))
    .option('--max-bytes <n>', 'bytes they may take together', whole(1, MOST))
    .option('--expires-at <time>', 'such as 2030-01-31T12:00:00Z')
    .action(
      either(createKey, ({ scope, ...others }: KeyOptions) => ({
        verb: 'create',
        key: { ...others, scopes: scope },
      })),
    );
  keys
    .command('list')
    .description('all keys, without the secret')
    .action(either(listKeys, () => ({ verb: 'list' })));
  keys
    .command('revoke')
    .description('make a key invalid for ever')
    .argument('<id>')
    .action(either(revokeKey, (id: string) => ({ verb: 'revoke', id })));
}
