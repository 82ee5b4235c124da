import { AccessError, UnseenClient, type Me } from '#client';
import { computed, signal } from '@preact/signals';
import { watchedFetch } from './connection.js';

export type Scope = Me['scopes'][number];

/** Ascending. Each scope includes those before it. */
const SCOPES: readonly Scope[] = ['read', 'write', 'admin'];

/** Kept in sessionStorage, so it ends with the tab. */
const STORED = 'unseen-key';

/** Why the user must sign in. */
export type SignInReason = 'needed' | 'wrong' | 'ended' | 'left' | 'now needed';

type State =
  | { readonly is: 'starting' }
  | { readonly is: 'failed'; readonly error: Error }
  | { readonly is: 'signed out'; readonly why: SignInReason }
  | { readonly is: 'open'; readonly me: Me };

export const session = signal<State>({ is: 'starting' });

const key = signal(sessionStorage.getItem(STORED) ?? undefined);

/** True if the user can sign out, because the tab has a key. */
export const hasKey = computed(() => key.value !== undefined);

/** The page is …/dashboard, below any path added by a proxy. */
const SERVICE = new URL('.', location.href.replace(/[?#].*$/, ''));

/** The client retries a call for this long. Polling continues after that. */
const TIMEOUT_MS = 30_000;
const ATTEMPT_MS = 10_000;

function clientWith(apiKey: string | undefined, rejected: () => void): UnseenClient {
  const times = { timeoutMs: TIMEOUT_MS, attemptMs: ATTEMPT_MS };
  // The page shows its own banner while the service is unavailable.
  const onRetry = (): void => undefined;
  return new UnseenClient({ url: SERVICE, apiKey, ...times, fetch: watchedFetch(rejected), onRetry });
}

/** The client with the current key. */
export const client = computed(() => {
  const own = key.value;
  return clientWith(own, () => {
    // Ignores a late answer for a key that is no longer in use.
    if (key.peek() === own) signOut(own === undefined ? 'now needed' : 'ended');
  });
});

/** Finds out the caller's access, with the key of this tab or without one. */
export async function start(): Promise<void> {
  const had = key.peek();
  try {
    open(await clientWith(had, () => undefined).me());
  } catch (error) {
    if (error instanceof AccessError) signOut(had === undefined ? 'needed' : 'ended');
    else session.value = { is: 'failed', error: error as Error };
  }
}

/** Characters that a header can carry. With any other, the browser would report that the service is unreachable. */
const CARRIED = /^[!-~]+$/;

/**
 * Signs in if the service accepts the key, and then shows the requested screen. Throws UnseenError. Throws for a wrong
 * key only if the user is already signed in. Otherwise, it shows the sign-in screen.
 */
export async function signIn(given: string): Promise<void> {
  if (!CARRIED.test(given)) {
    refuse();
    return;
  }
  try {
    const me = await clientWith(given, () => undefined).me();
    key.value = given;
    sessionStorage.setItem(STORED, given);
    open(me);
  } catch (error) {
    // A user who is signed in stays signed in.
    if (!(error instanceof AccessError) || session.peek().is === 'open') throw error;
    refuse();
  }
}

function refuse(): void {
  session.value = { is: 'signed out', why: 'wrong' };
}

export function signOut(why: SignInReason): void {
  key.value = undefined;
  sessionStorage.removeItem(STORED);
  session.value = { is: 'signed out', why };
}

function open(me: Me): void {
  session.value = { is: 'open', me };
}

/** True if the user has a scope. */
export function may(scope: Scope): boolean {
  const now = session.value;
  return now.is === 'open' && now.me.scopes.some((has) => SCOPES.indexOf(has) >= SCOPES.indexOf(scope));
}

/** The prefix for names that the user may use. */
export const prefix = computed(() => (session.value.is === 'open' ? (session.value.me.prefix ?? '') : ''));
