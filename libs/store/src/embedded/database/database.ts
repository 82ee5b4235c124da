import { statSync } from 'node:fs';
import { join } from 'node:path';
import { Damage } from './damage.js';
import type { Environment, Rows } from './environment.js';
import { LmdbEnvironment } from './lmdb-environment.js';
import { DEFAULT_SIZES } from './sizes.js';
import { Snapshot } from './snapshot.js';
import { Table } from './table.js';

/** The environment's file in the data directory. */
export const DATA_FILE = 'data.mdb';

/** True if a data directory contains data. A store on an empty directory starts empty. */
export function hasData(directory: string): boolean {
  const file = statSync(join(directory, DATA_FILE), { throwIfNoEntry: false });
  return file !== undefined && file.size > 0;
}

/** The only row of `meta` without a checksum, so that stores of every version can read it. */
export const FORMAT = Buffer.from('format');
/** Version of the tables below. A store with another version refuses the directory. */
export const FORMAT_VERSION = '7';

/**
 * A data directory's environment and its tables. `g` stands for the 8 bytes of a generation.
 *
 *   meta         name               format version, ends of the journal
 *   catalogue    filter name        description (JSON)
 *   states       g                  counts, record windows, queue numbers (filters/state-codec.ts)
 *   journal      sequence number    cells that one mutation changed (journal/journal.ts)
 *   blocks       g, layer, block    checkpointed cells (journal/checkpoint.ts)
 *   blockCounts  g                  number of blocks ever written
 *   records      g, origin, window, verb, id    operation records (operations/operation-records.ts)
 *   log          g, lane, row       waiting entries, in order (queue/log.ts); no lane without perHost
 *   lanes        g, lane            lanes of hosts (queue/host-lane.ts)
 *   turns        g, time, number, lane    lanes that may be leased from, in turn (queue/turns.ts)
 *   leases       g, lease, portion  leased entries (queue/leases.ts)
 *   due          g, time, kind, number    ends of leases, and delayed entries (queue/due.ts)
 *   dead         g, number          dead letters (queue/dead-letters.ts)
 *   marks        g, row             marks of forgotten items (filters/marks.ts)
 *   removed      g, layer, row      removals and due entries during a sync (filters/sync-rows.ts)
 *   hidden       g, layer, epoch, hash    forgotten items whose cells stay live (filters/hidden-rows.ts)
 *   credentials  id                 API key without its secret
 *
 * Every value is followed by checksums (table.ts).
 */
export class Database {
  readonly meta: Table;
  readonly catalogue: Table;
  readonly states: Table;
  readonly journal: Table;
  readonly blocks: Table;
  readonly blockCounts: Table;
  readonly records: Table;
  readonly log: Table;
  readonly lanes: Table;
  readonly turns: Table;
  readonly leases: Table;
  readonly due: Table;
  readonly dead: Table;
  readonly marks: Table;
  readonly removed: Table;
  readonly hidden: Table;
  readonly credentials: Table;
  private readonly unsealedMeta: Rows;
  private readonly snapshots = new Set<Snapshot>();

  /** `damage`: the damaged rows found by an inspection. Later reads add to it. */
  constructor(
    readonly environment: Environment,
    readonly damage = new Damage(),
    readonly sizes = DEFAULT_SIZES,
  ) {
    const table = (name: string): Table => new Table(name, environment.rows(name));
    this.unsealedMeta = environment.rows('meta');
    this.meta = table('meta');
    this.catalogue = table('catalogue');
    this.states = table('states');
    this.journal = table('journal');
    this.blocks = table('blocks');
    this.blockCounts = table('block-counts');
    this.records = table('records');
    this.log = table('log');
    this.lanes = table('lanes');
    this.turns = table('turns');
    this.leases = table('leases');
    this.due = table('due');
    this.dead = table('dead');
    this.marks = table('marks');
    this.removed = table('removed');
    this.hidden = table('hidden');
    this.credentials = table('credentials');
  }

  /**
   * Opens the environment in `directory`. Creates it if absent, unless `readOnly`. LMDB trusts the file, so inspect it
   * first.
   */
  static open(directory: string, damage?: Damage, options?: { readonly readOnly: boolean }): Database {
    return new Database(new LmdbEnvironment(join(directory, DATA_FILE), options), damage);
  }

  /** Writes the format version to a new directory. Throws if the directory has a different version. */
  async checkFormat(): Promise<void> {
    const version = this.unsealedMeta.get(FORMAT)?.toString();
    if (version === undefined) {
      await this.transaction(() => void this.unsealedMeta.putSync(FORMAT, Buffer.from(FORMAT_VERSION)), true);
    } else if (version !== FORMAT_VERSION) {
      throw otherFormat(version);
    }
  }

  /** The tables whose keys begin with a generation. */
  get tablesByGeneration(): Table[] {
    const { log, lanes, turns, leases, due, dead, marks, removed } = this;
    const queue = [log, lanes, turns, leases, due, dead, marks, removed];
    return [this.states, this.blocks, this.blockCounts, this.records, this.hidden, ...queue];
  }

  /** See `Environment.transaction`. */
  transaction(change: () => void, flush: boolean): Promise<void> {
    return this.environment.transaction(change, flush);
  }

  /** A snapshot of the committed data, for reads outside transactions. The caller ends it. */
  snapshot(): Snapshot {
    const snapshot = new Snapshot(this.environment.read(), () => this.snapshots.delete(snapshot));
    this.snapshots.add(snapshot);
    return snapshot;
  }

  async close(): Promise<void> {
    for (const snapshot of this.snapshots) snapshot.end();
    await this.environment.close();
  }
}

/** The error for a directory with a different format version. */
export function otherFormat(version: string): Error {
  return new Error(
    `the data directory has format ${version}, and this version reads only format ${FORMAT_VERSION}`,
  );
}
