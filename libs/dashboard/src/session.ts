import { AccessError, UnseenClient, type Me } from '#client';
import { computed, signal } from '@preact/signals';
import { watchedFetch } from './connection.js';

export type Scope = Me['scopes'][number];

/** In the order in which each includes those before it. */
const SCOPES: readonly Scope[] = ['read', 'write', 'admin'];

/** For this tab, and gone with it. */
const STORED = 'unseen-key';

/** Why somebody has to sign in. */
export type SignInReason = 'needed' | 'wrong' | 'ended' | 'left' | 'now needed';

type State =
  | { readonly is: 'starting' }
  | { readonly is: 'failed'; readonly error: Error }
  | { readonly is: 'signed out'; readonly why: SignInReason }
  | { readonly is: 'open'; readonly me: Me };

export const session = signal<State>({ is: 'starting' });

const key = signal(sessionStorage.getItem(STORED) ?? undefined);

/** Whether there is a key to sign out of. */
export const hasKey = computed(() => key.value !== undefined);

/** Below whatever path a proxy gives the service: the page is …/dashboard. */
const SERVICE = new URL('.', location.href.replace(/[?#].*$/, ''));

/** A call is repeated for so long; what polls tries again after that. */
const TIMEOUT_MS = 30_000;
const ATTEMPT_MS = 10_000;

function clientWith(apiKey: string | undefined, rejected: () => void): UnseenClient {
  const times = { timeoutMs: TIMEOUT_MS, attemptMs: ATTEMPT_MS };
  // The page itself shows that the service is away.
  const onRetry = (): void => undefined;
  return new UnseenClient({ url: SERVICE, apiKey, ...times, fetch: watchedFetch(rejected), onRetry });
}

/** The client of whoever is signed in. */
export const client = computed(() => {
  const own = key.value;
  return clientWith(own, () => {
    // Not of a key that has been left since.
    if (key.peek() === own) signOut(own === undefined ? 'now needed' : 'ended');
  });
});

/** Finds out who asks: with the key of this tab, or without one where none is needed. */
export async function start(): Promise<void> {
  const had = key.peek();
  try {
    open(await clientWith(had, () => undefined).me());
  } catch (error) {
    if (error instanceof AccessError) signOut(had === undefined ? 'needed' : 'ended');
    else session.value = { is: 'failed', error: error as Error };
  }
}

/** What a header can carry: of anything else a browser says that the service was not reached. */
const CARRIED = /^[!-~]+$/;

/**
 * Takes the key if the service does. The screen that was asked for follows. Throws UnseenError, but for a wrong key of somebody who
 * is not signed in.
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
    // Whoever is signed in stays so.
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

/** Whether whoever is signed in has a scope. */
export function may(scope: Scope): boolean {
  const now = session.value;
  return now.is === 'open' && now.me.scopes.some((has) => SCOPES.indexOf(has) >= SCOPES.indexOf(scope));
}

/** The names that whoever is signed in may use begin with it. */
export const prefix = computed(() => (session.value.is === 'open' ? (session.value.me.prefix ?? '') : ''));
