import { Option, type Command } from 'commander';
import type { QueuedUrl } from '#client';
import { dropQueued, listQueue } from './commands/queue.js';
import type { Runner } from './runner.js';
import { MOST, whole } from './values.js';

const STATES = Object.keys({
  waiting: true,
  leased: true,
  delayed: true,
  scheduled: true,
  dead: true,
} satisfies Record<QueuedUrl['state'], true>);

/** Adds the commands for URLs in a set's queue. */
export function addQueue(program: Command, run: Runner): void {
  const queue = program.command('queue').description("list the URLs in a visited set's queue, and drop them");
  const selecting = (command: Command): Command =>
    command
      .argument('<set>')
      .addOption(new Option('--state <state>', 'only URLs in this state').choices(STATES))
      .option('--host <host>', 'only URLs from this host, in a set with --per-host')
      .option('--prefix <prefix>', 'only URLs with this prefix, such as https://example.org/archive/');
  selecting(queue.command('list', { isDefault: true }))
    .description('list the URLs in the queue with their states')
    .option('--limit <n>', 'number of URLs to print (default: all)', whole(1, MOST))
    .action(run(listQueue));
  selecting(queue.command('drop'))
    .description('drop URLs from the queue; they stay visited')
    .addOption(new Option('--all', 'drop the whole queue').conflicts(['state', 'host', 'prefix']))
    .option('--forget', 'also forget the URLs, so that they can be discovered again')
    .option('--dry-run', 'print what the command would drop, and change nothing')
    .action(run(dropQueued));
}
