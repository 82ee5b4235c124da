import { describe, expect, it, jest } from '@jest/globals';
import type { Clock, Credential, Credentials } from '#store';
import { ApiKeys, KEYS_LIFETIME_MS } from './api-keys.js';
import { digestSecret, formatKey, makeKeyText } from './key-text.js';
import { Authenticator } from './authenticator.js';
import { ANONYMOUS } from '../request/principal.js';
import { Unauthenticated } from './unauthenticated.js';

let time = 1_000;
const clock: Clock = { now: () => time, monotonic: () => time };

/** An in-memory store that holds back its first list until `deliver` is called. */
function storeWithLateList(): { credentials: Credentials; deliver: () => void } {
  let kept: Credential[] = [];
  let lists = 0;
  let deliver = (): void => undefined;
  const delivered = new Promise<void>((resolve) => (deliver = resolve));
  const credentials: Credentials = {
    replace: () => Promise.resolve(false),
    put: async (credential) => void kept.push(credential),
    list: async () => {
      const found = [...kept];
      if (lists++ === 0) await delivered;
      return found;
    },
    delete: async (id) => {
      const before = kept.length;
      kept = kept.filter((one) => one.id !== id);
      return kept.length < before;
    },
  };
  return { credentials, deliver };
}

describe('a service that the first key has closed', () => {
  it('stays closed after a read that began before the key was created', async () => {
    const { credentials, deliver } = storeWithLateList();
    const keys = new ApiKeys(credentials, clock);
    const authenticator = new Authenticator('open', keys, undefined, clock);
    const early = authenticator.authenticate([]);
    const { id, secret } = makeKeyText();
    const rest = {
      name: 'ops',
      prefix: '',
      maxFilters: undefined,
      maxBytes: undefined,
      createdAt: 1,
      expiresAt: undefined,
    };
    await keys.add({ id, scopes: ['admin'], digest: digestSecret(secret), ...rest });
    await expect(authenticator.authenticate([])).rejects.toThrow(Unauthenticated);
    deliver();
    await expect(early).rejects.toThrow(Unauthenticated);
    await keys.revoke(id);
    await expect(authenticator.authenticate([])).rejects.toThrow(Unauthenticated);
  });
});

describe('an open service', () => {
  const key = { ...ANONYMOUS, scopes: ['admin'] as const, maxFilters: undefined, maxBytes: undefined };

  async function made(keys: ApiKeys): Promise<void> {
    const { id, secret } = makeKeyText();
    await keys.add({ ...key, id, digest: digestSecret(secret), createdAt: 1, expiresAt: undefined });
  }

  it('reads the keys before it accepts the first request, and again when they are stale', async () => {
    const { credentials, deliver } = storeWithLateList();
    deliver();
    const authenticator = new Authenticator('open', new ApiKeys(credentials, clock), undefined, clock);
    expect(authenticator.isOpen()).toBe(false);
    await authenticator.authenticate([]);
    time += KEYS_LIFETIME_MS - 1;
    expect(authenticator.isOpen()).toBe(true);
    time++;
    expect(authenticator.isOpen()).toBe(false);
  });

  it('is closed as soon as this instance creates a key, and stays closed when an earlier read ends', async () => {
    const { credentials, deliver } = storeWithLateList();
    const keys = new ApiKeys(credentials, clock);
    const authenticator = new Authenticator('open', keys, undefined, clock);
    const early = authenticator.authenticate([]);
    await made(keys);
    deliver();
    await early;
    expect(authenticator.isOpen()).toBe(false);
  });

  it('reports changes to its watcher', async () => {
    const { credentials, deliver } = storeWithLateList();
    deliver();
    const keys = new ApiKeys(credentials, clock);
    const authenticator = new Authenticator('open', keys, undefined, clock);
    const told: boolean[] = [];
    authenticator.watch((open) => told.push(open));
    await authenticator.authenticate([]);
    expect(authenticator.isOpen()).toBe(true);
    await made(keys);
    expect(authenticator.isOpen()).toBe(false);
    await expect(authenticator.authenticate([])).rejects.toThrow(Unauthenticated);
    expect(told).toEqual([false, true, false]);
    for (const [mode, open] of [
      ['none', true],
      ['keys', false],
    ] as const) {
      new Authenticator(mode, keys, undefined, clock).watch((now) => expect(now).toBe(open));
    }
  });
});

describe('a long request’s credentials', () => {
  const rest = {
    name: 'ops',
    prefix: '',
    maxFilters: undefined,
    maxBytes: undefined,
    createdAt: 1,
    scopes: ['write'] as const,
  };

  async function letIn(expiresAt?: number) {
    const store = storeWithLateList();
    store.deliver();
    const list = jest.spyOn(store.credentials, 'list');
    const keys = new ApiKeys(store.credentials, clock);
    const authenticator = new Authenticator('keys', keys, undefined, clock);
    const text = makeKeyText();
    await keys.add({ ...rest, id: text.id, digest: digestSecret(text.secret), expiresAt });
    const principal = await authenticator.authenticate([`Bearer ${formatKey(text)}`]);
    return { authenticator, keys, principal, id: text.id, list };
  }

  it('are confirmed from memory until the key is revoked', async () => {
    const { authenticator, keys, principal, id, list } = await letIn();
    for (let i = 0; i < 1_000; i++) await authenticator.confirm(principal);
    expect(list.mock.calls.length).toBeLessThan(100);
    await keys.revoke(id);
    await expect(authenticator.confirm(principal)).rejects.toMatchObject({ reason: 'unknown key' });
  });

  it('are confirmed until the key expires', async () => {
    const { authenticator, principal } = await letIn(time + 3_600_000);
    time += 3_599_999;
    await authenticator.confirm(principal);
    time++;
    await expect(authenticator.confirm(principal)).rejects.toMatchObject({ reason: 'expired key' });
  });

  it('are confirmed until the token expires, and always if anonymous, without a call to the store', async () => {
    const { authenticator, list } = await letIn();
    const token = { ...ANONYMOUS, credential: { validUntil: time + 3_600_000 } };
    time += 3_599_999;
    const asked = list.mock.calls.length;
    await authenticator.confirm(token);
    time++;
    await expect(authenticator.confirm(token)).rejects.toMatchObject({ reason: 'expired token' });
    await authenticator.confirm(ANONYMOUS);
    expect(list.mock.calls.length).toBe(asked);
  });
});
