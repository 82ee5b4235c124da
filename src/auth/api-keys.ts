import { timingSafeEqual } from 'node:crypto';
import { StoreError, within, type Clock, type Credentials } from '#store';
import { decodeKey, encodeKey, type ApiKey } from './api-key.js';
import { Cached } from './cached.js';
import { digestSecret, type KeyText } from './key-text.js';

/** How long this instance may not know that another instance has created or revoked a key. */
export const KEYS_LIFETIME_MS = 2_000;

/** How long keys may be used after a read from the store, for calls that must work while the store is unavailable. */
export const STALE_KEYS_MS = 3_600_000;
/** How long such a call waits for the store. */
const PATIENCE_MS = 2_000;

type Keys = ReadonlyMap<string, ApiKey | undefined>;

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
  /** Number of keys created by this instance, and of all its changes. */
  private made = 0;
  private changes = 0;
  /** When this instance last accepted each key, in ms since the epoch. At most one entry per key. */
  private readonly used = new Map<string, number>();
  private readonly known: Cached<Keys>;
  /** The keys of the successful read that began last. Undefined once this instance has changed a key since. */
  private last: { readonly keys: Keys; readonly at: number } | undefined;

  constructor(
    private readonly credentials: Credentials,
    private readonly clock: Clock,
    private readonly patienceMs = PATIENCE_MS,
  ) {
    this.known = new Cached(KEYS_LIFETIME_MS, clock, () => this.read());
  }

  /** True if any keys exist, including expired and unreadable ones. */
  async any(): Promise<boolean> {
    return (await this.known.get()).size > 0;
  }

  /**
   * Checks a key. An unknown id takes as much work as a known one. With `staleIfAway`, and if the store is unavailable
   * or does not answer within PATIENCE_MS, uses keys that are at most STALE_KEYS_MS old.
   */
  async judge({ id, secret }: KeyText, staleIfAway = false): Promise<Verdict> {
    const key = (await (staleIfAway ? this.knownOrStale() : this.known.get())).get(id);
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
    this.forget();
  }

  /** Replaces an existing key. If the key has been revoked, stores nothing and returns false. */
  async replace(key: ApiKey): Promise<boolean> {
    const replaced = await this.credentials.replace(encodeKey(key));
    this.forget();
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
    this.forget();
    this.used.delete(id);
    return revoked;
  }

  /** Makes the next call read the keys again. */
  private forget(): void {
    this.changes++;
    this.known.forget();
    this.last = undefined;
  }

  private async knownOrStale(): Promise<Keys> {
    const { last: remembered } = this;
    if (!remembered) return this.known.get();
    try {
      const late = () => new StoreError('STORE_UNAVAILABLE', 'the store does not answer');
      return await within(this.patienceMs, this.known.get(), late);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      // Another call may have changed a key in the meantime, or completed a later read.
      const { last } = this;
      if (!last) return this.known.get();
      if (this.clock.monotonic() - last.at >= STALE_KEYS_MS) throw error;
      return last.keys;
    }
  }

  private async read(): Promise<Keys> {
    const at = this.clock.monotonic();
    const until = at + KEYS_LIFETIME_MS;
    const { made, changes } = this;
    const found = await this.credentials.list();
    // This read may have begun before this instance created a key. Its result is then out of date.
    this.noneUntil = found.length === 0 && made === this.made ? until : -Infinity;
    const keys = new Map(found.map((credential) => [credential.id, decodeKey(credential)]));
    // A slow read may end after one that began later.
    if (changes === this.changes && at >= (this.last?.at ?? at)) this.last = { keys, at };
    return keys;
  }

  private verdictOn(key: ApiKey | undefined): Verdict {
    if (!key) return { key: undefined, reason: 'unknown key' };
    const now = this.clock.now();
    if (key.expiresAt !== undefined && key.expiresAt <= now) return { key: undefined, reason: 'expired key' };
    this.used.set(key.id, now);
    return { key };
  }
}
