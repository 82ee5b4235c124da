import type { CreateKey } from '#client';
import { Exit, UsageError } from '../ending.js';
import { tell, type Context } from './context.js';

/** The options for a new key. The service checks the values. */
export interface KeyOptions {
  readonly name: string;
  readonly scope: readonly string[];
  readonly prefix?: string;
  readonly maxFilters?: number;
  readonly maxBytes?: number;
  readonly expiresAt?: string;
}

/** Creates a key and prints it. No later call shows it again. */
export async function createKey(context: Context, { scope, ...others }: KeyOptions): Promise<Exit> {
  if (context.quiet) throw new UsageError('--quiet would hide the new key; leave it out');
  const made = await context.client.createKey({ ...others, scopes: scope as CreateKey['scopes'] });
  await tell(context, made, made.key);
  return Exit.Done;
}

export async function listKeys(context: Context): Promise<Exit> {
  for (const key of await context.client.keys()) {
    const { id, name, scopes, prefix, createdAt, expiresAt } = key;
    const names = prefix === undefined ? 'all names' : `names ${prefix}…`;
    const times = `created ${createdAt}  expires ${expiresAt ?? 'never'}`;
    await tell(context, key, `${id}  ${scopes.join(',')}  ${names}  ${times}  ${name}`);
  }
  return Exit.Done;
}

export async function revokeKey(context: Context, id: string): Promise<Exit> {
  await context.client.revokeKey(id);
  await tell(context, { verb: 'revoke', id }, `key ${id} is revoked`);
  return Exit.Done;
}
