import { StoreError, type Clock } from '#store';
import { quotaOf } from './api-key.js';
import { ApiKeys } from './api-keys.js';
import { KEY_BEGIN, parseKey } from './key-text.js';
import type { AuthMode } from '../config/auth.js';
import { ANONYMOUS, type Principal } from '../request/principal.js';
import type { TokenVerifier } from './token-verifier.js';
import { Unauthenticated } from './unauthenticated.js';

const BEARER = /^Bearer +([^\s]+)$/i;

/** Identifies a request's principal from its Authorization headers. */
export class Authenticator {
  /** In mode `open`: whether the store had keys when last asked. Stays at `keys` once this instance has seen a key. */
  private seen: 'nothing' | 'no keys' | 'keys' = 'nothing';
  private onChange: ((open: boolean) => void) | undefined;

  constructor(
    private readonly mode: AuthMode,
    private readonly keys: ApiKeys,
    private readonly tokens: TokenVerifier | undefined,
    private readonly clock: Clock,
  ) {}

  /** True if it is certain, without a call to the store, that requests need no credentials. */
  isOpen(): boolean {
    return this.mode === 'none' || (this.seen === 'no keys' && this.clock.monotonic() < this.keys.noneUntil);
  }

  /**
   * Tells `onChange`, now and after each change, whether this instance believes that requests need no credentials.
   */
  watch(onChange: (open: boolean) => void): void {
    this.onChange = onChange;
    onChange(this.mode === 'none' || this.seen === 'no keys');
  }

  /**
   * Throws Unauthenticated, or an error from the store or the token issuer if one of them is unavailable.
   * `staleIfAway`: see ApiKeys.judge.
   */
  async authenticate(authorizations: readonly string[], staleIfAway = false): Promise<Principal> {
    if (this.isOpen() || (this.mode === 'open' && (await this.hasNoKeys()))) return ANONYMOUS;
    const [authorization, ...others] = authorizations;
    // If a request has two headers, a proxy may have checked one while the service uses the other.
    if (others.length > 0) throw new Unauthenticated('several Authorization headers');
    if (authorization === undefined) throw new Unauthenticated('no credentials');
    const credentials = BEARER.exec(authorization)?.[1];
    if (credentials === undefined) throw new Unauthenticated('malformed credentials');
    if (credentials.startsWith(KEY_BEGIN) || !this.tokens) return this.byKey(credentials, staleIfAway);
    return this.tokens.verify(credentials);
  }

  /**
   * Checks the principal's credentials again during a long request. Throws Unauthenticated if they are no longer
   * accepted. Looks up a key as in `authenticate`. A token is valid until it expires, and costs nothing to check.
   */
  async confirm({ credential }: Principal): Promise<void> {
    if (credential === undefined) return;
    if ('validUntil' in credential) {
      if (credential.validUntil <= this.clock.now()) throw new Unauthenticated('expired token');
      return;
    }
    const verdict = await this.keys.judgeKnown(credential.keyId);
    if (!verdict.key) throw new Unauthenticated(verdict.reason);
  }

  private async byKey(credentials: string, staleIfAway: boolean): Promise<Principal> {
    const text = parseKey(credentials);
    if (!text) throw new Unauthenticated('malformed key');
    const verdict = await this.keys.judge(text, staleIfAway);
    if (!verdict.key) throw new Unauthenticated(verdict.reason);
    const { id, name, scopes, prefix, expiresAt } = verdict.key;
    const quota = quotaOf(verdict.key);
    return { id: `key:${id}`, name, scopes, prefix, quota, credential: { keyId: id, expiresAt } };
  }

  /**
   * True if the service requires no credentials. An operator who creates a key expects the service to require it. So
   * the first key closes the service for good, even if that key is revoked later. The service accepts no request until
   * the store has said once that it has no keys.
   */
  private async hasNoKeys(): Promise<boolean> {
    if (this.seen === 'keys') return false;
    try {
      this.note((await this.keys.any()) ? 'keys' : 'no keys');
    } catch (error) {
      if (this.seen === 'nothing' || !(error instanceof StoreError)) throw error;
    }
    return this.seen === 'no keys';
  }

  /**
   * Notes the result of a read. A read that began before the first key was created may end after a read that saw that
   * key.
   */
  private note(found: 'keys' | 'no keys'): void {
    if (this.seen === 'keys' || this.seen === found) return;
    this.seen = found;
    this.onChange?.(found === 'no keys');
  }
}
