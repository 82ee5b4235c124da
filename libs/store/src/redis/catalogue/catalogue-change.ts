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

/** Whether work that last showed a change at `since` is taken to have died with its instance; server times in ms. */
export const isStale = (since: number, now: number): boolean => now - since > STALE_MS;

/**
 * A change of a catalogue entry whose work is outside of the entry: on keys, in other slots. It has steps, each of which may be
 * the last of an instance that dies.
 *
 * - Announce: the entry says what is under way. Others wait, or go on with it, and a drop deletes what it makes.
 * - Prepare: the work. It may be repeated, and begun anew by another instance.
 * - Publish: the entry says that it is done, if it still says that it is under way.
 * - Undo: if that fails, what was made in vain is deleted.
 *
 * An instance that takes over from a dead one begins the same change, or one that retires what the dead one had made.
 */
export interface CatalogueChange {
  /** The entry while it is under way. Absent if the entry says so already: then this call goes on with what was begun. */
  readonly announced?: CatalogueEntry | undefined;
  readonly deadline: number;
  /** Limits what is announced. */
  readonly quota?: Quota | undefined;
  /** Frees what dead instances take of the quota. Answers false if that is nothing. */
  readonly makeRoom?: (() => Promise<boolean>) | undefined;
  /** Answers false if another instance has taken the change further. */
  prepare(held: HeldEntry): Promise<unknown>;
  /** What the entry becomes. */
  publish(entry: CatalogueEntry): Publication;
  /** `error` says why it failed. Without one, another instance has changed the entry. */
  undo?(held: HeldEntry, error?: unknown): Promise<void>;
}

export interface Publication {
  /** Undefined deletes it. */
  readonly entry: CatalogueEntry | undefined;
  readonly record?: RecordedOperation | undefined;
  /** If the work may take longer than the change's deadline. */
  readonly deadline?: number;
}

/** An entry that says that work is under way, as this call has last written or read it. */
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

  /** Changes the entry while the work goes on. Throws FILTER_BUSY if another has taken over, and QUOTA_EXCEEDED. */
  async update(entry: CatalogueEntry, deadline: number, quota?: Quota): Promise<void> {
    const raw = await this.catalogue.set(this.current, entry, deadline, { quota });
    if (raw === undefined) throw underWay(this.entry);
    this.current = { raw, entry };
  }
}

/**
 * Makes a change of an entry, as it was read. Answers what it has published; undefined if another instance has changed
 * the entry. Then what this call has made is undone, and the caller looks again.
 */
export async function carryOut(
  catalogue: Catalogue,
  read: EntryRead,
  change: CatalogueChange,
): Promise<Publication | undefined> {
  const { announced, deadline } = change;
  const entry = announced ?? read.entry;
  if (!entry) throw new TypeError('a change of no entry must announce one');
  // If the answer to the announcement is lost, it may have been made.
  const held = new HeldEntry(
    catalogue,
    announced ? { raw: JSON.stringify(entry), entry } : { ...read, entry },
  );
  if (announced && !(await announce(catalogue, read, announced, held, change))) return undefined;
  try {
    if ((await change.prepare(held)) !== false) {
      const publication = change.publish(held.entry);
      const { record, deadline: end = deadline } = publication;
      const raw = await catalogue.set(held.read, publication.entry, end, { record });
      if (raw !== undefined) return publication;
    }
  } catch (error) {
    // What cannot be undone now is left to the next call.
    await change.undo?.(held, error).catch(() => undefined);
    throw error;
  }
  await change.undo?.(held);
  return undefined;
}

/** False if the entry has changed since it was read. Throws QUOTA_EXCEEDED if there is no room for it. */
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
      // Then nothing has been announced.
      const isExceeded = error instanceof StoreError && error.code === 'QUOTA_EXCEEDED';
      if (isExceeded && (await makeRoom?.())) continue;
      if (!isExceeded) await change.undo?.(held, error).catch(() => undefined);
      throw error;
    }
  }
}
