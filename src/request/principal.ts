import type { Quota } from '#store';
import type { Scope } from './scope.js';

/** Who sent a request, as far as its credentials say. */
export interface Principal {
  /** Of its kind and unique: `key:<id>`, `jwt:<subject>`, or `anonymous` where no credentials are asked for. */
  readonly id: string;
  /** For people: the name given to a key, the subject of a token. */
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** Names of filters and visited sets begin with it; all others do not exist for this principal. Empty: all names. */
  readonly prefix: string;
  /** Bounds what it may make; absent: no bound, as for all who have no key with one. */
  readonly quota?: Quota | undefined;
  /** What it was let in with; absent where no credentials are asked for. */
  readonly credential?: Credential;
}

/** A key, which may be revoked and may end, or a token, which ends; in milliseconds since the epoch. */
export type Credential =
  | { readonly keyId: string; readonly expiresAt?: number | undefined }
  | { readonly validUntil: number };

/** Everyone, where the service asks for no credentials. */
export const ANONYMOUS: Principal = { id: 'anonymous', name: 'anonymous', scopes: ['admin'], prefix: '' };
