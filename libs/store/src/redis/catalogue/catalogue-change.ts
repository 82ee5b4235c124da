import { StoreError } from '../../errors.js';
import type { Quota } from '../../port/index.js';
import {
  type Catalogue,
  type EntryRead,
  type FoundEntry,
  type RecordedOperation,
  underWay,
} from './catalogue.js';
import type { CatalogueEntry } from '../layout/entry.js';

const STALE_MS = 30_000;

/**
 * True if a change that last made progress at `since` is presumed dead, like its instance. Both are server times in ms.
 */
export const isStale = (since: number, now: number): boolean => now - since > STALE_MS;

/**
 * A change of a catalogue entry that also changes keys in other slots. The instance may die after any of these steps:
 *
 * - Announce: the entry says that the change is in progress. Other calls wait for it or continue it; a drop deletes its
 *   keys.
 * - Prepare: the work. It may be repeated, and restarted by another instance.
 * - Publish: the entry says that the change is done, if it still says that it is in progress.
 * - Undo: if the change fails, this call's keys are deleted.
 *
 * An instance that takes over from a dead one repeats the same change, or starts one that deletes the dead instance's
 * keys.
 */
export interface CatalogueChange {
  /** The entry during the change. Absent if the entry already announces the change, so this call continues it. */
  readonly announced?: CatalogueEntry | undefined;
  readonly deadline: number;
  /** Quota that the announced entry must stay within. */
  readonly quota?: Quota | undefined;
  /** Frees quota held by dead instances' changes. Returns false if they hold none. */
  readonly makeRoom?: (() => Promise<boolean>) | undefined;
  /** Returns false if another instance has advanced the change. */
  prepare(held: HeldEntry): Promise<unknown>;
  publish(entry: CatalogueEntry): Publication;
  /** `error` is the reason, or undefined if another instance has changed the entry. */
  undo?(held: HeldEntry, error?: unknown): Promise<void>;
}

export interface Publication {
  /** Undefined deletes the entry. */
  readonly entry: CatalogueEntry | undefined;
  readonly record?: RecordedOperation | undefined;
  /** Called if this call has made the change. Not called if another instance has made the same one first. */
  readonly changed?: () => void;
  /** Set if the work may take longer than the change's deadline. */
  readonly deadline?: number;
}

/** An entry with a change in progress, as this call last wrote or read it. */
export class HeldEntry {
  constructor(
    private readonly catalogue: Catalogue,
    private current: FoundEntry,
  ) {}

  get read(): FoundEntry {
    return this.current;
  }

  get entry(): CatalogueEntry {
    return this.current.entry;
  }

  /** Changes the entry during the work. Throws FILTER_BUSY if another instance has taken over, and QUOTA_EXCEEDED. */
  async update(entry: CatalogueEntry, deadline: number, quota?: Quota): Promise<void> {
    const raw = await this.catalogue.set(this.current, entry, deadline, { quota });
    if (raw === undefined) throw underWay(this.entry);
    this.current = { raw, entry };
  }
}

/**
 * Carries out a change of an entry and returns the publication. If another instance has changed the entry since it was
 * read, undoes this call's work and returns undefined. The caller then reads the entry again.
 */
export async function carryOut(
  catalogue: Catalogue,
  read: EntryRead,
  change: CatalogueChange,
): Promise<Publication | undefined> {
  const { announced, deadline } = change;
  const entry = announced ?? read.entry;
  if (!entry) throw new TypeError('a change without an entry must announce one');
  // The announcement may have succeeded even if its reply was lost.
  const held = new HeldEntry(
    catalogue,
    announced ? { raw: JSON.stringify(entry), entry } : { ...read, entry },
  );
  if (announced && !(await announce(catalogue, read, announced, held, change))) return undefined;
  try {
    if ((await change.prepare(held)) !== false) {
      const publication = change.publish(held.entry);
      const { record, changed, deadline: end = deadline } = publication;
      const raw = await catalogue.set(held.read, publication.entry, end, { record, changed });
      if (raw !== undefined) return publication;
    }
  } catch (error) {
    // If this fails, the next call on the filter undoes the rest.
    await change.undo?.(held, error).catch(() => undefined);
    throw error;
  }
  await change.undo?.(held);
  return undefined;
}

/** Returns false if the entry has changed since it was read. Throws QUOTA_EXCEEDED. */
async function announce(
  catalogue: Catalogue,
  read: EntryRead,
  announced: CatalogueEntry,
  held: HeldEntry,
  change: CatalogueChange,
): Promise<boolean> {
  const { deadline, quota } = change;
  for (let { makeRoom } = change; ; makeRoom = undefined) {
    try {
      return (await catalogue.set(read, announced, deadline, { quota })) !== undefined;
    } catch (error) {
      // The quota refused, so nothing was announced.
      const isExceeded = error instanceof StoreError && error.code === 'QUOTA_EXCEEDED';
      if (isExceeded && (await makeRoom?.())) continue;
      if (!isExceeded) await change.undo?.(held, error).catch(() => undefined);
      throw error;
    }
  }
}
