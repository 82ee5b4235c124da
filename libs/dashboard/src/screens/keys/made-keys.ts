import type { NewKey } from '#client';
import { effect, signal } from '@preact/signals';
import { session, signIn } from '../../session.js';

/** A key that was made here: nobody shows its secret again. */
export interface MadeKey {
  readonly made: NewKey;
  /** The key that it comes in place of, and until when that is taken. */
  readonly replaces?: { readonly id: string; readonly until: string };
}

/**
 * Those that nobody has said to have kept. They stay while the screens change, also when the first key of all, or the end of
 * one's own, leads to the sign-in; not when somebody signs out.
 */
export const unkept = signal<readonly MadeKey[]>([]);

/**
 * Keeps a key whose secret is shown, and, if that is wished, goes on with it. Where that does not work it can be tried again beside
 * the secret: the key is made, and whoever were told of a failure here would make another.
 */
export async function keepAnd(goOn: boolean, key: MadeKey): Promise<void> {
  unkept.value = [...unkept.value, key];
  if (goOn) await signIn(key.made.key).catch(() => undefined);
}

/** Somebody has said to have its secret. */
export function forget(key: MadeKey): void {
  unkept.value = unkept.value.filter((other) => other !== key);
}

effect(() => {
  const { value: now } = session;
  if (now.is === 'signed out' && now.why === 'left') unkept.value = [];
});

const ask = (event: BeforeUnloadEvent): void => event.preventDefault();

// The browser asks, on whatever screen, before it closes the page that has the only copy.
effect(() => {
  if (unkept.value.length > 0) addEventListener('beforeunload', ask);
  else removeEventListener('beforeunload', ask);
});
