import 'reflect-metadata';
import { userInfo } from 'node:os';
import { destination } from 'pino';
import { AuditLog } from '../auth/audit-log.js';
import { configFromEnvironment, ConfigError, type Config } from '../config/config.js';
import { ProblemError } from '../errors/problem.js';
import { createLogger } from '../logging/logger.js';
import { openStore } from '../store/open-store.js';
import { StoreOpenError } from '../store/store-open-error.js';
import { StoreError, SYSTEM_CLOCK } from '#store';
import { validateShallow } from '../validation/shallow.pipe.js';
import { ApiKeys } from '../auth/api-keys.js';
import { CreateKeyDto } from '../auth/key.dto.js';
import type { ListedKeyView } from '../auth/key.view.js';
import { KeysService } from '../auth/keys.service.js';
import { Exit, UsageError } from './ending.js';
import { Output } from './terminal/output.js';

/** A command for keys. The key is validated like the key in a request. */
export type OfflineKeys =
  | { readonly verb: 'list' }
  | { readonly verb: 'create'; readonly key: Readonly<Record<string, unknown>> }
  | { readonly verb: 'revoke'; readonly id: string };

/** An expected failure. */
export interface Failure {
  readonly exit: Exit;
  /** For people. */
  readonly message: string;
}

/**
 * Creates, lists or revokes keys in the store that the settings name. Writes keys and lists to stdout, and audit lines
 * to stderr. Returns the failure, if any.
 */
export async function offlineKeys(command: OfflineKeys): Promise<Failure | undefined> {
  try {
    await manage(command, configFromEnvironment());
    return undefined;
  } catch (error) {
    const failure = foreseen(error);
    if (!failure) throw error;
    return failure;
  }
}

async function manage(command: OfflineKeys, config: Config): Promise<void> {
  if (command.verb !== 'create') await assertData(config);
  const store = await openStore(config);
  const output = new Output(process.stdout);
  try {
    const audit = new AuditLog(createLogger(config, destination({ dest: 2, sync: true })));
    const keys = new KeysService(new ApiKeys(store.credentials, SYSTEM_CLOCK), audit, store, SYSTEM_CLOCK);
    const manager = { id: 'cli', name: operatorName() };
    if (command.verb === 'list') {
      for (const key of (await keys.list()).keys) await output.write(`${line(key)}\n`);
    } else if (command.verb === 'revoke') {
      await keys.revoke(command.id, manager);
    } else {
      const dto = validateShallow(CreateKeyDto, command.key);
      const { key } = await keys.create(dto, manager);
      await output.write(`${key}\n`);
    }
    await output.flush();
  } finally {
    await store.close();
  }
}

/**
 * Throws if the data directory is missing. The embedded store would create the directory, but for `list` and `revoke`,
 * a missing one means a typo.
 */
async function assertData({ store, dataDir }: Config): Promise<void> {
  if (store !== 'embedded') return;
  const { hasData } = await import('#store/embedded');
  if (hasData(dataDir)) return;
  throw new UsageError(
    `DATA_DIR ${JSON.stringify(dataDir)} contains no data of the service, so it has no keys; check the path`,
  );
}

/** The operating system user's name. In a container, the user may have only a number. */
function operatorName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.()}`;
  }
}

function line(key: ListedKeyView): string {
  const { id, name, scopes, createdAt, expiresAt } = key;
  const times = [`created ${createdAt}`, `expires ${expiresAt ?? 'never'}`];
  return [id, scopes.join(','), names(key), ...times, name].join('  ');
}

/** The names that a key may use, with their usage and limits. */
function names({ prefix, maxFilters, maxBytes, usage }: ListedKeyView): string {
  if (prefix === undefined) return 'all names';
  const of = (limit: number | undefined): string => (limit === undefined ? '' : ` of ${limit}`);
  return `names ${prefix}…  filters ${usage?.filters ?? 0}${of(maxFilters)}  bytes ${usage?.bytes ?? 0}${of(maxBytes)}`;
}

function foreseen(error: unknown): Failure | undefined {
  if (error instanceof StoreOpenError) {
    const hint = 'While the service is running, leave out --offline.';
    return { exit: Exit.Usage, message: `${error.message}. ${hint}` };
  }
  if (error instanceof ProblemError) return { exit: Exit.Refused, message: error.message };
  if (error instanceof UsageError || error instanceof ConfigError || error instanceof StoreError)
    return { exit: Exit.Usage, message: error.message };
  return undefined;
}
