import { timingSafeEqual } from 'node:crypto';
import type { Clock, Credentials } from '#store';
import { decodeKey, encodeKey, type ApiKey } from './api-key.js';
import { Cached } from './cached.js';
import { digestSecret, type KeyText } from './key-text.js';

/** How long a key that another instance has revoked may still be taken here, and one it has made be unknown. */
export const KEYS_LIFETIME_MS = 2_000;

/** No secret has this digest. */
const NO_DIGEST = Buffer.alloc(32);

/** The outcome of a key that was shown: whose it is, or why not (for the log, never for the caller). */
export type Verdict =
  | { readonly key: ApiKey }
  | { readonly key: undefined; readonly reason: 'unknown key' | 'wrong secret' | 'expired key' };

/**
 * The keys in the store. All of them are read at once and kept for KEYS_LIFETIME_MS: so neither known nor made-up ids
 * cost the store a call each.
 */
export class ApiKeys {
  /** There are no keys, as far as this instance can know, until the clock's `monotonic()` is so much. */
  noneUntil = -Infinity;
  /** Keys made here. */
  private made = 0;
  /** When each key was last let in here, in ms since the epoch. It has no more ids than there are keys. */
  private readonly used = new Map<string, number>();
  private readonly known: Cached<ReadonlyMap<string, ApiKey | undefined>>;

  constructor(
    private readonly credentials: Credentials,
    private readonly clock: Clock,
  ) {
    this.known = new Cached(KEYS_LIFETIME_MS, clock, () => this.read());
  }

  /** Whether there are keys at all, expired and unreadable ones included. */
  async any(): Promise<boolean> {
    return (await this.known.get()).size > 0;
  }

  /** The same work for ids that are known and that are not. */
  async judge({ id, secret }: KeyText): Promise<Verdict> {
    const key = (await this.known.get()).get(id);
    const right = timingSafeEqual(digestSecret(secret), key?.digest ?? NO_DIGEST);
    return key && !right ? { key: undefined, reason: 'wrong secret' } : this.verdictOn(key);
  }

  /** Of a key whose secret has been shown before. */
  async judgeKnown(id: string): Promise<Verdict> {
    return this.verdictOn((await this.known.get()).get(id));
  }

  /** When a key was last let in by this process, in ms since the epoch; undefined: not since it began. */
  lastUsed(id: string): number | undefined {
    return this.used.get(id);
  }

  async add(key: ApiKey): Promise<void> {
    await this.credentials.put(encodeKey(key));
    this.made++;
    this.noneUntil = -Infinity;
    this.known.forget();
  }

  /** Keeps a key that is there as it now is. False, with nothing kept, if it has been revoked. */
  async replace(key: ApiKey): Promise<boolean> {
    const replaced = await this.credentials.replace(encodeKey(key));
    this.known.forget();
    return replaced;
  }

  /** From the store itself, sorted by id. */
  async list(): Promise<ApiKey[]> {
    const found = await this.credentials.list();
    const ids = new Set(found.map(({ id }) => id));
    for (const id of this.used.keys()) if (!ids.has(id)) this.used.delete(id);
    return found.map(decodeKey).filter((key) => key !== undefined);
  }

  /** False if there was none. Refused by this instance from now on, by others after KEYS_LIFETIME_MS at most. */
  async revoke(id: string): Promise<boolean> {
    const revoked = await this.credentials.delete(id);
    this.known.forget();
    this.used.delete(id);
    return revoked;
  }

  private async read(): Promise<ReadonlyMap<string, ApiKey | undefined>> {
    const until = this.clock.monotonic() + KEYS_LIFETIME_MS;
    const { made } = this;
    const found = await this.credentials.list();
    // A reading that began before a key was made may end after it.
    this.noneUntil = found.length === 0 && made === this.made ? until : -Infinity;
    return new Map(found.map((credential) => [credential.id, decodeKey(credential)]));
  }

  private verdictOn(key: ApiKey | undefined): Verdict {
    if (!key) return { key: undefined, reason: 'unknown key' };
    const now = this.clock.now();
    if (key.expiresAt !== undefined && key.expiresAt <= now) return { key: undefined, reason: 'expired key' };
    this.used.set(key.id, now);
    return { key };
  }
}
