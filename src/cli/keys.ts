import { readCommand, USAGE } from './keys-command-line.js';
import { keysFailure, offlineKeys } from './offline-keys.js';

try {
  const command = readCommand(process.argv.slice(2));
  if (command.verb === 'help') process.stdout.write(USAGE);
  else await offlineKeys(command);
} catch (error) {
  process.stderr.write(`keys: ${keysFailure(error)}\n`);
  process.exitCode = 1;
}
