import { signal } from '@preact/signals';

/** What cannot be reached at the moment. `back`: nothing any more, and that is to be said. */
export type Away = 'service' | 'store' | 'busy' | 'back';

/** Seen by every request, also by those that the client will repeat by itself. */
export const away = signal<Away | undefined>(undefined);

/** The reason of requests that end because nobody waits for them any more. */
export const LEFT = new Error('the request was cancelled');

const BACK_MS = 4_000;

/** Statuses of gateways that do not reach the service, and of a service that cannot answer now. */
const PASSING: ReadonlyMap<number, Away> = new Map<number, Away>([
  [429, 'busy'],
  [502, 'service'],
  [504, 'service'],
]);
/** What codes of a 503 tell. One of the set that was asked about, such as that its data is lost, tells of nothing else. */
const REASONS: ReadonlyMap<unknown, Away> = new Map<unknown, Away>([
  ['STORE_UNAVAILABLE', 'store'],
  ['OVERLOADED', 'busy'],
]);
/** Calls that are answered without the store: that it is back they cannot tell. */
const WITHOUT_STORE = /\/v1\/(?:me|plan)$/;

/** `fetch`, which also notes whether anybody answers, and tells `rejected` when a key is not accepted. */
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

/** Whether a request has ended because nobody waits for it, such as those beside one that was refused; not for being late. */
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
