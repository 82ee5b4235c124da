import { hostWords, positionsOfHashes, type Positions } from '#bloom';
import { deadlineIn, msUntil } from '../../clock.js';
import { StoreError } from '../../errors.js';
import { hashesOf } from '../../queued-hashes.js';
import { called, lacksRoom } from '../../refusals.js';
import type { RandomSource } from '../../random-source.js';
import type { Operation } from '../../port/index.js';
import type { QueuePage } from '../../transfer/export-parts.js';
import { shared } from '../../shared-work.js';
import { within } from '../../within.js';
import type { Connection } from '../connection/connection.js';
import type { RedisSource } from '../transfer/export-source.js';
import { type RedisFilter, segmentKeysOf } from '../layout/filter.js';
import { owedKey } from '../layout/keys.js';
import type { ChunkCall } from '../items/item-calls.js';
import { laneOf } from '../queue/entry-pages.js';
import { perChunk } from '../items/per-chunk.js';
import type { Answer } from '../segments/segments.js';
import type { HostCopy } from '../scripts/hosts.js';
import { HOST_BYTES } from '../scripts/queue-state.js';
import { copiedScript, NOTES, notesScript } from '../scripts/sync.js';
import { STEP_MS } from '../segments/sync-ends.js';
import type { SyncSums } from '../segments/sync-sums.js';

const ID_BYTES = 8;

const HASH_BYTES = 16;
/** Number of notes to read at a time. */
const NOTES_READ = 1_000;

/** An entry. In a per-host queue, with the second word of its host's hash. */
interface Queued {
  readonly hash: Uint8Array;
  readonly hostWord?: number | undefined;
}

/** The parts of the store that copy a queue's entries into a sync. */
export interface QueueKeeper {
  readonly connection: Connection;
  readonly random: RandomSource;
  readonly sums: SyncSums;
  source(filter: RedisFilter): RedisSource;
  /** Throws FILTER_FULL if the sync's layers have no room for a batch. */
  admit(filter: RedisFilter, id: string, positions: Positions, operation: Operation): Promise<void>;
  /** Keeps some of the queue's entries. Throws SYNC_ENDED. */
  keep(call: ChunkCall, id: string): Promise<Answer>;
  /** Abandons a sync whose layers have no room. */
  abandon(filter: RedisFilter, id: string): Promise<void>;
}

/** The record field for a kept chunk. */
export const keepField = ({ id }: Operation, chunk: number) => `keep:${id}:${chunk}`;

/**
 * Keeps the entries that are queued when a sync is opened, unless they are scheduled. Callers that wait for the same
 * copy share it.
 */
export class SyncQueue {
  /** Copies in progress, by sync id. */
  private readonly copies = new Map<string, Promise<void>>();
  /** Copies of one host's entries, by sync id and host name. */
  private readonly hostCopies = new Map<string, Promise<HostCopy | undefined>>();

  constructor(private readonly keeper: QueueKeeper) {}

  /** Resolves once all entries are kept. Throws STORE_UNAVAILABLE at the deadline, but the copy continues. */
  async kept(filter: RedisFilter, id: string, deadline: number): Promise<void> {
    if (filter.queued)
      await inTime(
        shared(this.copies, id, () => this.copy(filter, id)),
        deadline,
      );
  }

  /**
   * Keeps one host's entries, so that they can be dropped before the copy. Entries that move in the meantime may be
   * missed. But the segment owes them to the copy, which keeps them. Returns undefined if the sync was abandoned.
   */
  keptHost(filter: RedisFilter, id: string, host: string, deadline: number): Promise<HostCopy | undefined> {
    const { id: lane, segment } = laneOf(filter, host);
    const keep = async (): Promise<HostCopy> => {
      filter.known.takePart();
      const [, token] = this.callOn(filter, segment, id);
      const reader = this.keeper.source(filter).lanesOf(segment);
      await this.keepPages(filter, id, reader.onceIn(lane), host);
      return `${reader.serverRun} ${token}`;
    };
    const copy = shared(this.hostCopies, `${id} ${host}`, () => this.orAbandon(filter, id, keep));
    return inTime(copy, deadline);
  }

  private async copy(filter: RedisFilter, id: string): Promise<void> {
    const { sync } = filter;
    if (sync?.id !== id) return;
    filter.known.takePart();
    const found = await this.keeper.sums.of(filter, sync, deadlineIn(STEP_MS));
    await this.orAbandon(filter, id, async () => {
      for (const segment of found?.uncopied ?? []) await this.copySegment(filter, segment, id);
    });
  }

  /** If the sync's layers have no room for the entries, abandons the sync and returns undefined. */
  private async orAbandon<T>(
    filter: RedisFilter,
    id: string,
    keep: () => Promise<T>,
  ): Promise<T | undefined> {
    try {
      return await keep();
    } catch (error) {
      if (!lacksRoom(error)) throw error;
      await this.keeper.abandon(filter, id);
      return undefined;
    }
  }

  /** Keeps all entries, then the owed ones, which moved in the meantime. See `queue.owe` in scripts/queue-state.ts. */
  private async copySegment(filter: RedisFilter, segment: number, id: string): Promise<void> {
    for (let isAnew = true; isAnew;) {
      const reader = this.keeper.source(filter).readerOf(segment);
      await this.keepPages(filter, id, reader.once(filter.perHost !== undefined));
      let last: string = NOTES.owed.after;
      let state = await this.endCopy(filter, segment, id, last, reader.serverRun);
      while (state === 'MORE') {
        const [keys, token] = this.callOn(filter, segment, id);
        const owed = await readNotes(this.keeper.connection, filter, keys, token, [last, NOTES.owed.to]);
        await this.keepEntries(filter, id, owedIn(owed.notes, filter));
        last = owed.last;
        state = await this.endCopy(filter, segment, id, last, reader.serverRun);
      }
      isAnew = state === 'ANEW';
    }
  }

  /** Keeps the entries in some pages, or only those of one host. */
  private async keepPages(
    filter: RedisFilter,
    id: string,
    pages: AsyncIterable<QueuePage>,
    host?: string,
  ): Promise<void> {
    for await (const { entries } of pages) {
      const unscheduled = entries.filter(({ scheduledAt }) => scheduledAt === undefined);
      const wanted = host === undefined ? unscheduled : unscheduled.filter((entry) => entry.host === host);
      await this.keepEntries(
        filter,
        id,
        wanted.map(({ hash, host: of }) => ({
          hash,
          hostWord: of === undefined ? of : hostWords(of, filter.seed)[1],
        })),
      );
    }
  }

  /** Notes that a segment's queue has been copied. Returns MORE or ANEW if the copy is incomplete. See copiedScript. */
  private async endCopy(
    filter: RedisFilter,
    segment: number,
    id: string,
    last: string,
    run: string,
  ): Promise<'OK' | 'MORE' | 'ANEW'> {
    const [keys, token] = this.callOn(filter, segment, id);
    const args = [token, filter.pieceBytes, last, run];
    const reply = await this.keeper.connection.mutate(copiedScript, keys, args, deadlineIn(STEP_MS));
    if (reply !== 'OK' && reply !== 'MORE' && reply !== 'ANEW') throw cutOff(filter);
    return reply;
  }

  private callOn(filter: RedisFilter, segment: number, id: string): [keys: string[], token: string] {
    const { sync, token } = filter.viewOf(segment);
    if (sync?.id !== id) throw cutOff(filter);
    const keys = segmentKeysOf(filter, segment);
    return [[keys.cells, keys.meta, owedKey(keys, sync.stack.base)], token];
  }

  private async keepEntries(filter: RedisFilter, id: string, entries: readonly Queued[]): Promise<void> {
    if (entries.length === 0) return;
    const hash = hashesOf(entries);
    const host = filter.perHost && hostsOf(entries, hash);
    const positions = { ...positionsOfHashes(hash, filter.geometry), ...(host && { host }) };
    const { connection, random } = this.keeper;
    const operation: Operation = {
      ...{ id: `${id}:${random.id(ID_BYTES)}`, origin: 'made', fingerprint: id },
      ...{ repeat: false, madeAt: connection.now(), deadline: deadlineIn(STEP_MS) },
    };
    await this.keeper.admit(filter, id, positions, operation);
    await perChunk(filter, positions, filter.itemsPerScript, (chunk) => {
      const field = keepField(operation, chunk.number);
      return this.keeper.keep({ filter, positions, chunk, operation, field }, id);
    });
  }
}

/** Some notes on a segment's queue with scores in this range (NOTES), and the score of the last one. */
export async function readNotes(
  connection: Connection,
  filter: RedisFilter,
  keys: string[],
  token: string,
  range: readonly [after: string, to: string],
): Promise<{ last: string; notes: Buffer }> {
  const args = [token, filter.pieceBytes, ...range, NOTES_READ];
  const reply = await connection.run(notesScript, keys, args, deadlineIn(STEP_MS), true);
  if (!Array.isArray(reply)) throw cutOff(filter);
  const [last, notes] = reply as [Buffer, Buffer];
  return { last: last.toString(), notes };
}

/** The entries in notes for the copy of the queue. */
function owedIn(notes: Buffer, { perHost }: RedisFilter): Queued[] {
  const size = HASH_BYTES + (perHost ? HOST_BYTES : 0);
  return Array.from({ length: notes.length / size }, (_, n) => ({
    hash: notes.subarray(n * size, n * size + HASH_BYTES),
    ...(perHost && { hostWord: notes.readUInt32BE(n * size + HASH_BYTES) }),
  }));
}

/** The result of a copy. Throws STORE_UNAVAILABLE at the deadline, but the copy continues. */
function inTime<T>(copy: Promise<T>, deadline: number): Promise<T> {
  const late = () => new StoreError('STORE_UNAVAILABLE', 'the queue is still being copied; retry');
  return within(msUntil(deadline), copy, late);
}

/** See Positions.host. The first word is the first word of the item's hash. */
function hostsOf(entries: readonly Queued[], hash: Uint32Array): Uint32Array {
  const words = new Uint32Array(2 * entries.length);
  for (const [n, { hostWord = 0 }] of entries.entries()) words.set([hash[4 * n] as number, hostWord], 2 * n);
  return words;
}

/** The error if the sync has ended in the meantime or data is lost. The next attempt finds out which of the two. */
function cutOff(filter: RedisFilter): StoreError {
  return new StoreError('STORE_UNAVAILABLE', `the queue of ${called(filter)} could not be copied; retry`);
}
