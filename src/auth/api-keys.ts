import { timingSafeEqual } from 'node:crypto';
import type { Clock, Credentials } from '#store';
import { decodeKey, encodeKey, type ApiKey } from './api-key.js';
import { Cached } from './cached.js';
import { digestSecret, type KeyText } from './key-text.js';

/** How long this instance may not know that another instance has created or revoked a key. */
export const KEYS_LIFETIME_MS = 2_000;

/** No secret has this digest. */
const NO_DIGEST = Buffer.alloc(32);

/** The result of checking a key: the key, or why it was rejected. The reason is for the log, never for the caller. */
export type Verdict =
  | { readonly key: ApiKey }
  | { readonly key: undefined; readonly reason: 'unknown key' | 'wrong secret' | 'expired key' };

/**
 * The API keys in the store. One call reads all keys and caches them for KEYS_LIFETIME_MS. So requests don't cost the
 * store a call each, even with made-up key ids.
 */
export class ApiKeys {
  /** Until the clock's `monotonic()` reaches this, this instance assumes that no keys exist. */
  noneUntil = -Infinity;
  /** Number of keys created by this instance. */
  private made = 0;
  /** When this instance last accepted each key, in ms since the epoch. At most one entry per key. */
  private readonly used = new Map<string, number>();
  private readonly known: Cached<ReadonlyMap<string, ApiKey | undefined>>;

  constructor(
    private readonly credentials: Credentials,
    private readonly clock: Clock,
  ) {
    this.known = new Cached(KEYS_LIFETIME_MS, clock, () => this.read());
  }

  /** True if any keys exist, including expired and unreadable ones. */
  async any(): Promise<boolean> {
    return (await this.known.get()).size > 0;
  }

  /** Checks a key. An unknown id takes as much work as a known one. */
  async judge({ id, secret }: KeyText): Promise<Verdict> {
    const key = (await this.known.get()).get(id);
    const right = timingSafeEqual(digestSecret(secret), key?.digest ?? NO_DIGEST);
    return key && !right ? { key: undefined, reason: 'wrong secret' } : this.verdictOn(key);
  }

  /** Checks a key again whose secret was verified before. */
  async judgeKnown(id: string): Promise<Verdict> {
    return this.verdictOn((await this.known.get()).get(id));
  }

  /** When this process last accepted a key, in ms since the epoch. Undefined: not since it started. */
  lastUsed(id: string): number | undefined {
    return this.used.get(id);
  }

  async add(key: ApiKey): Promise<void> {
    await this.credentials.put(encodeKey(key));
    this.made++;
    this.noneUntil = -Infinity;
    this.known.forget();
  }

  /** Replaces an existing key. If the key has been revoked, stores nothing and returns false. */
  async replace(key: ApiKey): Promise<boolean> {
    const replaced = await this.credentials.replace(encodeKey(key));
    this.known.forget();
    return replaced;
  }

  /** Reads the keys from the store, not from the cache, sorted by id. */
  async list(): Promise<ApiKey[]> {
    const found = await this.credentials.list();
    const ids = new Set(found.map(({ id }) => id));
    for (const id of this.used.keys()) if (!ids.has(id)) this.used.delete(id);
    return found.map(decodeKey).filter((key) => key !== undefined);
  }

  /**
   * Revokes a key. Returns false if it did not exist. This instance refuses the key from now on, others within
   * KEYS_LIFETIME_MS.
   */
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
    // This read may have begun before this instance created a key. Its result is then out of date.
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
