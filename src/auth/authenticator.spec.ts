import { describe, expect, it } from '@jest/globals';
import type { Credential, Credentials } from '#store';
import { ApiKeys } from '../keys/api-keys.js';
import { digestSecret, makeKeyText } from '../keys/key-text.js';
import { Authenticator } from './authenticator.js';
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
    const early = authenticator.authenticate(undefined);
    const { id, secret } = makeKeyText();
    const rest = { name: 'ops', prefix: '', createdAt: 1, expiresAt: undefined };
    await keys.add({ id, scopes: ['admin'], digest: digestSecret(secret), ...rest });
    await expect(authenticator.authenticate(undefined)).rejects.toThrow(Unauthenticated);
    deliver();
    await expect(early).rejects.toThrow(Unauthenticated);
    await keys.revoke(id);
    await expect(authenticator.authenticate(undefined)).rejects.toThrow(Unauthenticated);
  });
});
