import type { Command } from 'commander';
import { createKey, listKeys, revokeKey, type KeyOptions } from './commands/keys.js';
import { Ending } from './ending.js';
import type { OfflineKeys } from './offline-keys.js';
import type { Act, Runner } from './runner.js';
import { MOST, time, whole } from './values.js';

export function addKeys(program: Command, run: Runner): void {
  const keys = program
    .command('keys')
    .description('manage API keys through the running service, or with --offline directly in its store')
    .option('--offline', 'open the store directly; stop the service first if the store is embedded');
  const either =
    (online: Act, offline: (...args: never[]) => OfflineKeys) =>
    async (...args: unknown[]): Promise<void> => {
      if (keys.opts<{ offline?: boolean }>().offline !== true) return run(online)(...args);
      // Loads the store and its frameworks only for this command.
      const { offlineKeys } = await import('./offline-keys.js');
      const failure = await offlineKeys(offline(...(args as never[])));
      if (failure) throw new Ending(failure.exit, failure.message);
    };
  keys
    .command('create')
    .description('create a key and print it; it cannot be shown again')
    .requiredOption('--name <name>', 'label for people')
    .requiredOption('--scope <scope...>', 'read, write (includes read) or admin (includes write)')
    .option('--prefix <prefix>', 'allow only names that begin with this prefix')
    .option('--max-filters <n>', 'limit on filters and visited sets under the prefix', whole(1, MOST))
    .option('--max-bytes <n>', 'limit on their total memory, in bytes', whole(1, MOST))
    .option(
      '--expires-at <time>',
      'when the key expires, such as 2030-01-31T12:00:00Z, or 30d from now (with a unit; default: never)',
      time(),
    )
    .action(
      either(createKey, ({ scope, ...others }: KeyOptions) => ({
        verb: 'create',
        key: { ...others, scopes: scope },
      })),
    );
  keys
    .command('list')
    .description('list all keys, without their secrets')
    .action(either(listKeys, () => ({ verb: 'list' })));
  keys
    .command('revoke')
    .description('revoke a key permanently')
    .argument('<id>')
    .action(either(revokeKey, (id: string) => ({ verb: 'revoke', id })));
}
