import type { Scope } from '../../src/request/scope.js';
import type { TestApp } from './app.js';
import { KeysService } from './in-process.js';

export interface TestKey {
  readonly id: string;
  /** The secret API key. */
  readonly key: string;
  /** The request header with the key. */
  readonly headers: { readonly authorization: string };
}

interface KeyOptions {
  readonly prefix?: string;
  readonly expiresAt?: string;
}

/** Creates a key without the API, like the command line. */
export async function makeKey(app: TestApp, scope: Scope, options: KeyOptions = {}): Promise<TestKey> {
  const dto = { name: `test ${scope}`, scopes: [scope], ...options };
  const { id, key } = await app.app.get(KeysService).create(dto, { id: 'test', name: 'test' });
  return { id, key, headers: bearer(key) };
}

export function bearer(credentials: string): { authorization: string } {
  return { authorization: `Bearer ${credentials}` };
}
