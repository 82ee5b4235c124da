import { NotFoundError, type Sync, type SyncDescription } from '#client';
import { useRef } from 'preact/hooks';
import { usePoll, type Polled } from '../../poll.js';
import { client } from '../../session.js';
import { handleOf, isLost, type Described, type Subject } from '../../sets.js';

const EVERY_MS = 2_000;

/** A set and its open sync. If this page has seen a sync that has ended, `sync` says how it ended. */
export interface Look {
  readonly described: Described;
  readonly sync: SyncDescription | undefined;
}

export interface Looks extends Polled<Look> {
  /** Forgets an ended sync, so that the user can open another. */
  readonly forget: () => void;
}

/** The page always shows the service's sync, whether this page or another caller opened or ended it. */
export function useLooks({ kind, name }: Subject): Looks {
  const seen = useRef<string | undefined>(undefined);
  const polled = usePoll<Look>(
    `sync of ${kind}/${name}`,
    async (signal) => {
      const described = await handleOf(client.value, kind, name).describe({ signal });
      if (isLost(described)) return { described, sync: undefined };
      const { sync } = described;
      if (sync) seen.current = sync.id;
      if (sync || seen.current === undefined) return { described, sync };
      return { described, sync: await ended(syncOf({ kind, name }, seen.current), signal) };
    },
    EVERY_MS,
  );
  const forget = (): void => {
    seen.current = undefined;
    polled.refresh();
  };
  return { ...polled, forget };
}

/** The service remembers only a set's last sync. */
async function ended(sync: Sync<string>, signal: AbortSignal): Promise<SyncDescription | undefined> {
  try {
    return await sync.describe({ signal });
  } catch (error) {
    if (error instanceof NotFoundError) return undefined;
    throw error;
  }
}

export function syncOf({ kind, name }: Subject, id: string): Sync<string> {
  return handleOf(client.value, kind, name).syncs.get(id);
}
