import { signal } from '@preact/signals';

/** The part that is unavailable now. `back` means that all parts are available again. The banner shows it briefly. */
export type Away = 'service' | 'store' | 'busy' | 'back';

/** Every request updates it, including requests that the client will retry. */
export const away = signal<Away | undefined>(undefined);

/** The abort reason for requests whose result is no longer needed. */
export const LEFT = new Error('the request was cancelled');

const BACK_MS = 4_000;

/** Statuses from gateways that can't reach the service, or from an overloaded service. */
const PASSING: ReadonlyMap<number, Away> = new Map<number, Away>([
  [429, 'busy'],
  [502, 'service'],
  [504, 'service'],
]);
/** What the codes in a 503 mean. Codes about one set, such as lost data, say nothing about the service. */
const REASONS: ReadonlyMap<unknown, Away> = new Map<unknown, Away>([
  ['STORE_UNAVAILABLE', 'store'],
  ['OVERLOADED', 'busy'],
]);
/** Calls that the service answers without its store. Their success doesn't show that the store is available again. */
const WITHOUT_STORE = /\/v1\/(?:me|plan)$/;

/** `fetch` that also tracks whether the service is available, and calls `rejected` when it rejects the key. */
export function watchedFetch(rejected: () => void): typeof fetch {
  return async (input, init) => {
    let response: Response;
    try {
      response = await fetch(input, { ...init, cache: 'no-store' });
    } catch (error) {
      if (!isLeft(init?.signal)) away.value = 'service';
      throw error;
    }
    const { status } = response;
    if (status === 401) rejected();
    const now = status === 503 ? await reasonOf503(response) : PASSING.get(status);
    if (now !== undefined || away.value !== 'store' || !WITHOUT_STORE.test(response.url)) note(now);
    return response;
  };
}

/** True if the page itself cancelled the request, because it no longer needs the result. False for a timeout. */
function isLeft(signal: AbortSignal | null | undefined): boolean {
  return signal?.aborted === true && (signal.reason as Error | undefined)?.name !== 'TimeoutError';
}

function note(now: Away | undefined): void {
  if (now !== undefined) {
    away.value = now;
    return;
  }
  if (away.value === undefined || away.value === 'back') return;
  away.value = 'back';
  setTimeout(() => {
    if (away.value === 'back') away.value = undefined;
  }, BACK_MS);
}

async function reasonOf503(response: Response): Promise<Away | undefined> {
  try {
    const { code } = (await response.clone().json()) as { code?: unknown };
    return REASONS.get(code);
  } catch {
    return 'service';
  }
}
