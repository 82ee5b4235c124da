import { signal } from '@preact/signals';

/** What cannot be reached at the moment. `back`: nothing any more, and that is to be said. */
export type Away = 'service' | 'store' | 'busy' | 'back';

/** Seen by every request, also by those that the client will repeat by itself. */
export const away = signal<Away | undefined>(undefined);

/** The reason of requests that end because nobody waits for them any more. */
export const LEFT = new Error('nobody waits for this any more');

const BACK_MS = 4_000;

/** Statuses of gateways that do not reach the service, and of a service that cannot answer now. */
const PASSING: ReadonlyMap<number, Away> = new Map<number, Away>([
  [429, 'busy'],
  [502, 'service'],
  [503, 'store'],
  [504, 'service'],
]);

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
    note(status === 503 ? await reasonOf503(response) : PASSING.get(status));
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

async function reasonOf503(response: Response): Promise<Away> {
  try {
    const { code } = (await response.clone().json()) as { code?: unknown };
    return code === 'STORE_UNAVAILABLE' ? 'store' : 'busy';
  } catch {
    return 'service';
  }
}
