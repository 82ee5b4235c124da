import { Option, type Command } from 'commander';
import type { Context } from './commands/context.js';
import { create, empty, list, plan, showOne } from './commands/sets.js';
import type { Runner } from './runner.js';
import { decimal, MOST, seconds, whole } from './values.js';

const YEARS_10 = 315_576_000;

export function addSets(program: Command, run: Runner): void {
  const shape = (command: Command): Command =>
    command
      .addOption(
        new Option(
          '--growth <growth>',
          'auto: add layers when full; none: refuse items at twice the capacity',
        ).choices(['auto', 'none']),
      )
      .option(
        '--max-age <time>',
        'forget URLs not visited for this long, such as 12h or 30d',
        seconds(10, YEARS_10),
      );
  shape(
    program
      .command('create')
      .description('create a visited set, or a filter with --type; no-op if it exists')
      .argument('<name>')
      .requiredOption('--capacity <items>', 'number of items that it is sized for', whole(1, MOST))
      .option(
        '--error-rate <rate>',
        'maximum false-positive rate (default for visited sets: 1e-4)',
        decimal(0, 1),
      )
      .addOption(
        new Option('--type <type>', 'create a filter of this type, for any strings').choices([
          'counting',
          'standard',
        ]),
      )
      .addOption(
        new Option('--semantics <semantics>', 'whether a counting filter counts repeated adds').choices([
          'set',
          'multiset',
        ]),
      )
      .option('--url-profile <profile>', 'rules that decide which URLs are the same page: a name, or JSON')
      .option('--max-attempts <n>', 'leases after which a URL becomes a dead letter', whole(1, 1_000_000))
      .option('--per-host', 'lease from hosts in turn; each of the following options implies it')
      .option(
        '--per-host-delay <time>',
        'time between two leases from a host, such as 2s',
        seconds(1, 86_400),
      )
      .option('--per-host-leased <n>', 'maximum number of URLs leased at a time per host', whole(1, 2 ** 31))
      .option('--per-host-urls <n>', 'maximum number of URLs per host in the set', whole(1, 2 ** 31)),
  ).action(run(create));
  program.command('list').description('list all visited sets and filters').action(run(list));
  program
    .command('show')
    .description('describe a visited set or filter')
    .argument('<name>')
    .action(run(showOne));
  for (const verb of ['clear', 'drop'] as const) {
    program
      .command(verb)
      .description(verb === 'clear' ? 'empty a visited set or filter' : 'delete a visited set or filter')
      .argument('<name>')
      .option('--dry-run', 'print what the command would remove, and change nothing')
      .action(
        run((context: Context, name: string, options: { dryRun?: boolean }) =>
          empty(context, verb, name, options),
        ),
      );
  }
  shape(
    program
      .command('plan')
      .description('compute the memory that a visited set or filter needs')
      .requiredOption('--capacity <items>', 'number of items that it is sized for', whole(1, MOST))
      .option('--error-rate <rate>', 'maximum false-positive rate', decimal(0, 1), 1e-4)
      .addOption(
        new Option('--type <type>', 'plan a filter of this type; a standard filter cannot forget').choices([
          'counting',
          'standard',
        ]),
      )
      .option('--per-host', 'plan a visited set that leases from hosts in turn'),
  ).action(run(plan));
}
