import { describe, expect, it } from '@jest/globals';
import { MovedClock } from '../../test/support/moved-clock.js';
import { StoreError, SYSTEM_CLOCK, type Credential } from '#store';
import { decodeKey, encodeKey, type ApiKey } from './api-key.js';
import { ApiKeys, KEYS_LIFETIME_MS } from './api-keys.js';
import { digestSecret, makeKeyText } from './key-text.js';

const text = makeKeyText();
const key: ApiKey = {
  id: text.id,
  name: 'ops',
  scopes: ['read', 'admin'],
  prefix: 'acme-',
  maxFilters: undefined,
  maxBytes: undefined,
  digest: digestSecret(text.secret),
  createdAt: 1,
  expiresAt: undefined,
};

/** A store that counts its calls and can delay its answers. */
class SlowStore {
  kept: Credential[] = [];
  lists = 0;
  fail = false;
  private waiting: (() => void)[] = [];
  hold = false;

  async put(credential: Credential): Promise<void> {
    this.kept = [...this.kept.filter(({ id }) => id !== credential.id), credential];
  }

  async replace(credential: Credential): Promise<boolean> {
    const known = this.kept.some(({ id }) => id === credential.id);
    if (known) await this.put(credential);
    return known;
  }

  async list(): Promise<Credential[]> {
    this.lists++;
    const { kept } = this;
    if (this.hold) await new Promise<void>((resolve) => this.waiting.push(resolve));
    if (this.fail) throw new Error('away');
    return kept;
  }

  async delete(id: string): Promise<boolean> {
    const before = this.kept.length;
    this.kept = this.kept.filter((one) => one.id !== id);
    return this.kept.length < before;
  }

  release(): void {
    this.hold = false;
    for (const resolve of this.waiting.splice(0)) resolve();
  }
}

describe('API keys', () => {
  it('read back as stored, without the secret', () => {
    expect(decodeKey(encodeKey(key))).toEqual(key);
    expect(decodeKey(encodeKey({ ...key, prefix: '', expiresAt: 5 }))).toEqual({
      ...key,
      prefix: '',
      expiresAt: 5,
    });
    const limited = { ...key, maxFilters: 1, maxBytes: Number.MAX_SAFE_INTEGER };
    expect(decodeKey(encodeKey(limited))).toEqual(limited);
    expect(encodeKey(key).value).not.toContain(text.secret);
  });

  it.each([
    'null',
    '7',
    '{}',
    'not JSON',
    encodeKey(key).value.replace('admin', 'root'),
    encodeKey(key).value.replace('"sha256":"', '"sha256":"zz'),
    encodeKey(key).value.replace('"prefix":"acme-"', '"prefix":null'),
    ...['null', '"5"', '0', '-1', '1.5', '1e300'].flatMap((limit) => [
      encodeKey({ ...key, maxFilters: 5 }).value.replace('"maxFilters":5', `"maxFilters":${limit}`),
      encodeKey({ ...key, maxBytes: 5 }).value.replace('"maxBytes":5', `"maxBytes":${limit}`),
    ]),
  ])('grant no access if they are unreadable: %.40s', async (value) => {
    expect(decodeKey({ id: key.id, value })).toBeUndefined();
    const store = new SlowStore();
    store.kept = [{ id: key.id, value }];
    const keys = new ApiKeys(store, SYSTEM_CLOCK);
    expect(await keys.judge(text)).toEqual({ key: undefined, reason: 'unknown key' });
    expect(await keys.any()).toBe(true);
    expect(await keys.list()).toEqual([]);
  });

  it('are checked for id, secret and expiry', async () => {
    const keys = new ApiKeys(new SlowStore(), SYSTEM_CLOCK);
    expect(await keys.judge(text)).toEqual({ key: undefined, reason: 'unknown key' });
    await keys.add(key);
    expect(await keys.judge(text)).toEqual({ key });
    const { secret } = makeKeyText();
    expect(await keys.judge({ id: key.id, secret })).toEqual({ key: undefined, reason: 'wrong secret' });
    await keys.add({ ...key, expiresAt: Date.now() });
    expect(await keys.judge(text)).toEqual({ key: undefined, reason: 'expired key' });
  });

  it('cost the store one call for any number of made-up ids', async () => {
    const store = new SlowStore();
    const keys = new ApiKeys(store, SYSTEM_CLOCK);
    await Promise.all(Array.from({ length: 1_000 }, () => keys.judge(makeKeyText())));
    expect(store.lists).toBe(1);
  });

  it('are refused by this instance as soon as they are revoked, even during a read', async () => {
    const store = new SlowStore();
    const keys = new ApiKeys(store, SYSTEM_CLOCK);
    await keys.add(key);
    store.hold = true;
    const early = keys.judge(text);
    expect(await keys.revoke(key.id)).toBe(true);
    const late = keys.judge(text);
    store.release();
    // A request that began before the key was revoked may be accepted, but not a later one.
    expect(await early).toEqual({ key });
    expect(await late).toMatchObject({ reason: 'unknown key' });
    expect(await keys.judge(text)).toMatchObject({ reason: 'unknown key' });
    expect(await keys.revoke(key.id)).toBe(false);
  });

  it('are read again after a failure, and not remembered as unknown', async () => {
    const store = new SlowStore();
    const keys = new ApiKeys(store, SYSTEM_CLOCK);
    await keys.add(key);
    store.fail = true;
    await expect(keys.judge(text)).rejects.toThrow('away');
    store.fail = false;
    expect(await keys.judge(text)).toEqual({ key });
  });
});

describe('API keys while the store is unavailable', () => {
  const unavailable = (): Promise<never> => Promise.reject(new StoreError('STORE_UNAVAILABLE', 'away'));
  const known = async (patienceMs?: number) => {
    const store = new SlowStore();
    const clock = new MovedClock();
    const keys = new ApiKeys(store, clock, patienceMs);
    await store.put(encodeKey(key));
    expect(await keys.judge(text)).toEqual({ key });
    clock.advance(KEYS_LIFETIME_MS);
    return { store, clock, keys };
  };

  it('are used from the last read, but only by calls that ask for it', async () => {
    const { store, keys } = await known();
    store.list = unavailable;
    expect(await keys.judge(text, true)).toEqual({ key });
    await expect(keys.judge(text)).rejects.toThrow('away');
  });

  it('are not used from before this instance revoked a key', async () => {
    const { store, keys } = await known();
    await keys.revoke(key.id);
    store.list = unavailable;
    await expect(keys.judge(text, true)).rejects.toThrow('away');
  });

  it('are not used from a read that began before this instance revoked a key', async () => {
    const { store, keys } = await known();
    store.hold = true;
    const read = keys.judge(text);
    await keys.revoke(key.id);
    store.release();
    await read;
    store.list = unavailable;
    await expect(keys.judge(text, true)).rejects.toThrow('away');
  });

  it('are used from the last complete read while the store is slow, and so only until the read in progress ends', async () => {
    const { store, clock, keys } = await known(1);
    // Another instance revokes the key.
    store.kept = [];
    store.hold = true;
    expect(await keys.judge(text, true)).toEqual({ key });
    const waits = keys.judge(text);
    store.release();
    expect(await waits).toMatchObject({ reason: 'unknown key' });
    clock.advance(KEYS_LIFETIME_MS);
    store.hold = true;
    expect(await keys.judge(text, true)).toMatchObject({ reason: 'unknown key' });
    store.release();
  });

  it('are not used from a read that began before a later one, even if it ends after that', async () => {
    const { store, clock, keys } = await known();
    store.hold = true;
    const early = keys.judge(text);
    // Another instance revokes the key.
    store.kept = [];
    store.hold = false;
    clock.advance(KEYS_LIFETIME_MS);
    expect(await keys.judge(text)).toMatchObject({ reason: 'unknown key' });
    store.release();
    expect(await early).toEqual({ key });
    store.list = unavailable;
    clock.advance(KEYS_LIFETIME_MS);
    expect(await keys.judge(text, true)).toMatchObject({ reason: 'unknown key' });
  });

  it('are used from a read that another call has completed in the meantime', async () => {
    const { store, clock, keys } = await known();
    // Another instance revokes the key.
    store.kept = [];
    store.hold = true;
    const other = keys.judge(text);
    clock.advance(KEYS_LIFETIME_MS);
    let fail = (_: Error): void => undefined;
    store.list = () => new Promise((_, reject) => (fail = reject));
    const late = keys.judge(text, true);
    store.release();
    expect(await other).toMatchObject({ reason: 'unknown key' });
    store.list = unavailable;
    fail(new StoreError('STORE_UNAVAILABLE', 'away'));
    expect(await late).toMatchObject({ reason: 'unknown key' });
  });
});
