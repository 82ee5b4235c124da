import type { Filter } from '../../port/index.js';
import type { QueuePage } from '../../transfer/export-parts.js';
import type { Database } from '../database/database.js';
import type { Memory } from '../filters/memory.js';
import { QueueSnapshot, type Place } from './queue-snapshot.js';

/** The part of the engine that reads pages. A read resolves once the state that `look` saw is committed. */
interface Reader {
  read<T>(look: (memory: Memory, now: number, database: Database) => T): Promise<T>;
}

/**
 * A queue's entries as of one commit, in one segment or in all. An entry that moves during the read still appears
 * exactly once.
 */
export async function* queuePages(
  engine: Reader,
  filter: Filter,
  segment?: number,
): AsyncGenerator<QueuePage, void, undefined> {
  const snapshot = await engine.read((_, __, database) => database.snapshot());
  try {
    const queue = await engine.read(
      (memory, now, database) => new QueueSnapshot(database, memory.current(filter), snapshot, now),
    );
    const { removals } = queue;
    for (let place: Place | undefined, more = true; more;) {
      const from = place;
      const { entries, hosts, next } = await engine.read((memory, _, { sizes }) => {
        memory.current(filter);
        return queue.page(segment, sizes.entriesPerPage, from);
      });
      yield { entries, hosts, removals };
      place = next;
      more = next !== undefined;
    }
  } finally {
    snapshot.end();
  }
}
