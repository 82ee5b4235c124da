import type { NewKey } from '#client';
import { effect, signal } from '@preact/signals';
import { session, signIn } from '../../session.js';

/** A key created in this tab. Its secret can't be shown again later. */
export interface MadeKey {
  readonly made: NewKey;
  /** The key that it replaces, and when that key expires. */
  readonly replaces?: { readonly id: string; readonly until: string };
}

/**
 * Keys whose secret the user has not yet confirmed as saved. They survive a change of screen, even to the sign-in
 * screen when the first key is created or the user's own key expires. Signing out drops them.
 */
export const unkept = signal<readonly MadeKey[]>([]);

/**
 * Keeps a new key, and signs in with it if `goOn`. Ignores a failed sign-in, because the key exists and an error here
 * would lead the user to create another. The user can retry next to the secret.
 */
export async function keepAnd(goOn: boolean, key: MadeKey): Promise<void> {
  unkept.value = [...unkept.value, key];
  if (goOn) await signIn(key.made.key).catch(() => undefined);
}

/** Removes a key's secret from the page. Call this when the user has saved it. */
export function forget(key: MadeKey): void {
  unkept.value = unkept.value.filter((other) => other !== key);
}

effect(() => {
  const { value: now } = session;
  if (now.is === 'signed out' && now.why === 'left') unkept.value = [];
});

const ask = (event: BeforeUnloadEvent): void => event.preventDefault();

// On every screen, the browser asks before it closes the page, because the page has the only copy of the secret.
effect(() => {
  if (unkept.value.length > 0) addEventListener('beforeunload', ask);
  else removeEventListener('beforeunload', ask);
});
