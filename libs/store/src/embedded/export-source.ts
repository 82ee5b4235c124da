import type { Filter, QueuedItem } from '../store.js';
import type { QueuePage, SegmentSnapshot, SegmentSource } from '../transfer/export-parts.js';
import type { Engine } from './engine.js';
import { QueueTransfer } from './queue-transfer.js';

/** Entries read at a time, so that the event loop is held for about a millisecond. */
const PAGE_ENTRIES = 256;

const NO_COUNTS = { items: 0, added: 0, duplicate: 0, removed: 0, refused: 0 };

/**
 * Reads a filter for export. Every read runs alone inside a transaction, where memory and database agree, and answers
 * when what it saw is committed.
 */
export class EmbeddedSource implements SegmentSource {
  constructor(
    private readonly engine: Engine,
    private readonly filter: Filter,
  ) {}

  snapshot(segment: number): Promise<SegmentSnapshot> {
    return this.engine.mutate(({ memory }) => {
      const { segments, tally } = memory.current(this.filter);
      const { items, added, duplicate, removed, refused } = tally;
      const last = segment === segments.length - 1;
      return {
        cells: (segments[segment] as Uint8Array).slice(),
        counts: last ? { items, added, duplicate, removed, refused } : NO_COUNTS,
        removals: removed,
      };
    });
  }

  async *queue(segment: number): AsyncGenerator<QueuePage, void, undefined> {
    for (let after: Uint8Array | undefined, more = true; more;) {
      const page = await this.page(segment, after);
      yield page;
      after = page.entries.at(-1)?.hash;
      more = page.entries.length === PAGE_ENTRIES;
    }
  }

  private page(segment: number, after: Uint8Array | undefined): Promise<QueuePage> {
    return this.engine.mutate(({ memory, database }) => {
      const state = memory.current(this.filter);
      const entries: QueuedItem[] = new QueueTransfer(database, state).page(segment, PAGE_ENTRIES, after);
      return { entries, removals: state.tally.removed };
    });
  }
}
