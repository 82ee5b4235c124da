import type { Quota } from '#store';
import type { Scope } from './scope.js';

/** A request's sender, as its credentials identify it. */
export interface Principal {
  /** Unique across kinds: `key:<id>`, `jwt:<subject>`, or `anonymous` if no credentials are required. */
  readonly id: string;
  /** The name of a key or the subject of a token, for people. */
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** Name prefix of all filters and visited sets that exist for this principal. Empty: all names. */
  readonly prefix: string;
  /** Limits the filters that the principal may create. Absent if its key has no limits. */
  readonly quota?: Quota | undefined;
  /** The accepted credentials. Absent if none are required. */
  readonly credential?: Credential;
}

/** A key may be revoked or expire, and a token expires. In ms since the epoch. */
export type Credential =
  | { readonly keyId: string; readonly expiresAt?: number | undefined }
  | { readonly validUntil: number };

/** The principal for all requests if the service requires no credentials. */
export const ANONYMOUS: Principal = { id: 'anonymous', name: 'anonymous', scopes: ['admin'], prefix: '' };
