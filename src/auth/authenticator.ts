import { StoreError, type Clock } from '#store';
import { quotaOf } from './api-key.js';
import { ApiKeys } from './api-keys.js';
import { KEY_BEGIN, parseKey } from './key-text.js';
import type { AuthMode } from '../config/auth.js';
import { ANONYMOUS, type Principal } from '../request/principal.js';
import type { TokenVerifier } from './token-verifier.js';
import { Unauthenticated } from './unauthenticated.js';

const BEARER = /^Bearer +([^\s]+)$/i;

/** Finds out who sent a request, from its Authorization headers. */
export class Authenticator {
  /** With mode `open`: whether the store is known to have had no keys, and whether it is known to have had some. */
  private seen: 'nothing' | 'no keys' | 'keys' = 'nothing';
  private onChange: ((open: boolean) => void) | undefined;

  constructor(
    private readonly mode: AuthMode,
    private readonly keys: ApiKeys,
    private readonly tokens: TokenVerifier | undefined,
    private readonly clock: Clock,
  ) {}

  /** Whether nobody has to say who they are, for sure and without asking the store. */
  isOpen(): boolean {
    return this.mode === 'none' || (this.seen === 'no keys' && this.clock.monotonic() < this.keys.noneUntil);
  }

  /** Tells `onChange` whether nobody has to say who they are, as far as is known: now, and when that changes. */
  watch(onChange: (open: boolean) => void): void {
    this.onChange = onChange;
    onChange(this.mode === 'none' || this.seen === 'no keys');
  }

  /** Throws Unauthenticated, or what the store or the issuer of tokens throws while it cannot be asked. */
  async authenticate(authorizations: readonly string[]): Promise<Principal> {
    if (this.isOpen() || (this.mode === 'open' && (await this.hasNoKeys()))) return ANONYMOUS;
    const [authorization, ...others] = authorizations;
    // Of two, a proxy before the service may have read the other one.
    if (others.length > 0) throw new Unauthenticated('several Authorization headers');
    if (authorization === undefined) throw new Unauthenticated('no credentials');
    const credentials = BEARER.exec(authorization)?.[1];
    if (credentials === undefined) throw new Unauthenticated('malformed credentials');
    if (credentials.startsWith(KEY_BEGIN) || !this.tokens) return this.byKey(credentials);
    return this.tokens.verify(credentials);
  }

  /**
   * Throws Unauthenticated if the credentials that `principal` was let in with are taken no longer: for requests that go
   * on for long. Keys are asked for as in `authenticate`; a token is valid until it ends, and costs nothing.
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

  private async byKey(credentials: string): Promise<Principal> {
    const text = parseKey(credentials);
    if (!text) throw new Unauthenticated('malformed key');
    const verdict = await this.keys.judge(text);
    if (!verdict.key) throw new Unauthenticated(verdict.reason);
    const { id, name, scopes, prefix, expiresAt } = verdict.key;
    const quota = quotaOf(verdict.key);
    return { id: `key:${id}`, name, scopes, prefix, quota, credential: { keyId: id, expiresAt } };
  }

  /**
   * An operator who makes a key wants it to be needed. So from the first key on the service is not open any more, even if
   * that key is revoked. Nobody is let in before the store has said once that there is no key.
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

  /** A reading that began before the first key was made may end after one that has seen it. */
  private note(found: 'keys' | 'no keys'): void {
    if (this.seen === 'keys' || this.seen === found) return;
    this.seen = found;
    this.onChange?.(found === 'no keys');
  }
}
