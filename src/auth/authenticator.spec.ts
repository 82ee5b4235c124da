import { afterEach, describe, expect, it, jest } from '@jest/globals';
import type { Credential, Credentials } from '#store';
import { ApiKeys } from './api-keys.js';
import { digestSecret, formatKey, makeKeyText } from './key-text.js';
import { Authenticator } from './authenticator.js';
import { ANONYMOUS } from '../request/principal.js';
import { Unauthenticated } from './unauthenticated.js';

/** A store in memory whose first list comes when it is told to. */
function storeWithLateList(): { credentials: Credentials; deliver: () => void } {
  let kept: Credential[] = [];
  let lists = 0;
  let deliver = (): void => undefined;
  const delivered = new Promise<void>((resolve) => (deliver = resolve));
  const credentials: Credentials = {
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

describe('the door that the first key closes', () => {
  it('is not opened again by a reading that began before the key was made', async () => {
    const { credentials, deliver } = storeWithLateList();
    const keys = new ApiKeys(credentials);
    const authenticator = new Authenticator('open', keys, undefined);
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

describe('credentials of a request that goes on', () => {
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
    const keys = new ApiKeys(store.credentials);
    const authenticator = new Authenticator('keys', keys, undefined);
    const text = makeKeyText();
    await keys.add({ ...rest, id: text.id, digest: digestSecret(text.secret), expiresAt });
    const principal = await authenticator.authenticate([`Bearer ${formatKey(text)}`]);
    return { authenticator, keys, principal, id: text.id, list };
  }

  afterEach(() => {
    jest.restoreAllMocks();
  });

  it('are confirmed out of the keys in memory until the key is revoked', async () => {
    const { authenticator, keys, principal, id, list } = await letIn();
    for (let i = 0; i < 1_000; i++) await authenticator.confirm(principal);
    expect(list.mock.calls.length).toBeLessThan(100);
    await keys.revoke(id);
    await expect(authenticator.confirm(principal)).rejects.toMatchObject({ reason: 'unknown key' });
  });

  it('are confirmed until the key expires', async () => {
    const end = Date.now() + 3_600_000;
    const { authenticator, principal } = await letIn(end);
    const clock = jest.spyOn(Date, 'now').mockReturnValue(end - 1);
    await authenticator.confirm(principal);
    clock.mockReturnValue(end);
    await expect(authenticator.confirm(principal)).rejects.toMatchObject({ reason: 'expired key' });
  });

  it('are confirmed until the token ends, and without any for ever, asking nobody', async () => {
    const { authenticator, list } = await letIn();
    const end = Date.now() + 3_600_000;
    const token = { ...ANONYMOUS, credential: { validUntil: end } };
    const clock = jest.spyOn(Date, 'now').mockReturnValue(end - 1);
    const asked = list.mock.calls.length;
    await authenticator.confirm(token);
    clock.mockReturnValue(end);
    await expect(authenticator.confirm(token)).rejects.toMatchObject({ reason: 'expired token' });
    await authenticator.confirm(ANONYMOUS);
    expect(list.mock.calls.length).toBe(asked);
  });
});
