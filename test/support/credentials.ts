import type { Scope } from '../../src/request/scope.js';
import type { TestApp } from './app.js';
import { KeysService } from './in-process.js';

export interface TestKey {
  readonly id: string;
  /** The key itself. */
  readonly key: string;
  /** The header that carries it. */
  readonly headers: { readonly authorization: string };
}

interface KeyOptions {
  readonly prefix?: string;
  readonly expiresAt?: string;
}

/** Makes a key behind the API's back, as the command line does. */
export async function makeKey(app: TestApp, scope: Scope, options: KeyOptions = {}): Promise<TestKey> {
  const dto = { name: `test ${scope}`, scopes: [scope], ...options };
  const { id, key } = await app.app.get(KeysService).create(dto, { id: 'test', name: 'test' });
  return { id, key, headers: bearer(key) };
}

export function bearer(credentials: string): { authorization: string } {
  return { authorization: `Bearer ${credentials}` };
}
