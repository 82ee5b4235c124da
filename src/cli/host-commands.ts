import type { Command } from 'commander';
import { dropHost, listHosts, setHost } from './commands/hosts.js';
import type { Runner } from './runner.js';
import { seconds, time, whole } from './values.js';

export function addHosts(program: Command, run: Runner): void {
  const hosts = program
    .command('hosts')
    .description('list the hosts in a visited set with --per-host, change their limits, and drop them');
  hosts
    .command('list', { isDefault: true })
    .description('list the hosts and how many URLs each one has')
    .argument('<set>')
    .action(run(listHosts));
  hosts
    .command('set')
    .description("replace a host's settings; without options, the set's settings apply")
    .argument('<set>')
    .argument('<host>')
    .option('--delay <time>', 'time between two leases from the host, or 0', seconds(0, 86_400))
    .option('--leased <n>', 'maximum number of its URLs leased at a time', whole(1, 2 ** 31))
    .option('--urls <n>', 'maximum number of its URLs in the set', whole(1, 2 ** 31))
    .option(
      '--blocked-until <time>',
      'lease none of its URLs before this time, such as 2030-01-31T12:00:00Z, or 2h from now (with a unit)',
      time(),
    )
    .action(run(setHost));
  hosts
    .command('drop')
    .description("drop a host's URLs from the queue; they stay visited")
    .argument('<set>')
    .argument('<host>')
    .option('--dry-run', 'print what the command would drop, and change nothing')
    .action(run(dropHost));
}
