import { segmentBytes } from '#bloom';
import { joinAll } from '../join-all.js';
import type { Connection } from './connection.js';
import type { CatalogueEntry } from './filter.js';
import { allKeys, type QueueKeys, segmentKeys } from './keys.js';
import { createCellsScript, createLogScript, createMetaScript } from './scripts/segment.js';

/** Makes the keys of segments, and deletes them. Repeating either is harmless. */
export class Allocation {
  constructor(private readonly connection: Connection) {}

  /**
   * Makes the keys of a segment. The cells come first and in one piece: a string that grows in steps keeps up to 1 MiB
   * of spare room for ever (measured: 15 % of a 7 MiB segment), and one that is made whole keeps none. This holds the
   * server for about 0.6 ms per MiB. The keys after them fail if the cells took it beyond its memory limit. Each key is
   * made by itself: a script is refused keys that do not exist yet while their slot moves.
   */
  async allocate(entry: CatalogueEntry, tag: string, deadline: number): Promise<void> {
    const last = segmentBytes(entry.geometry) - 1;
    const keys = segmentKeys(tag);
    await this.connection.mutate(createCellsScript, [keys.cells], [last], deadline);
    const { caller, made } = keys.operations;
    const hashes = [caller.current, caller.previous, made.current, made.previous];
    await joinAll<unknown>([
      this.connection.mutate(createMetaScript, [keys.meta], [entry.generation], deadline),
      ...hashes.map((key) => this.connection.write('hset', key, ['', ''], deadline)),
      ...(entry.kind === 'visited-set' ? this.allocateQueue(keys.queue, deadline) : []),
    ]);
  }

  private allocateQueue(queue: QueueKeys, deadline: number): Promise<unknown>[] {
    const { logs, leases, ends, delayed, dead, marks, oldMarks } = queue;
    const { connection } = this;
    return [
      ...logs.map((key) => connection.mutate(createLogScript, [key], [], deadline)),
      ...[leases, marks, oldMarks].map((key) => connection.write('hset', key, ['', ''], deadline)),
      ...[ends, delayed, dead].map((key) => connection.write('zadd', key, ['-inf', ''], deadline)),
    ];
  }

  /**
   * Deletes the keys of segments. It also deletes those of a queue, since a filter that was left half made may have been a
   * visited set. It goes key by key, since a command on several keys is refused while the slot moves if one is missing.
   */
  async free(tags: readonly string[], deadline: number): Promise<void> {
    for (const tag of tags) {
      const keys = allKeys(segmentKeys(tag), true);
      await joinAll(keys.map((key) => this.connection.write('unlink', key, [], deadline)));
    }
  }
}
