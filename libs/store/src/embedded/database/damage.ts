import { DataFileError } from '../data-file/data-file.js';
import { GENERATION_BYTES } from './keys.js';
import { RowState, type DamagedRow } from './table.js';

/** The tables whose keys begin with a generation. A damaged row in another table concerns every filter. */
const OF_A_GENERATION: ReadonlySet<string> = new Set([
  'states',
  'blocks',
  'block-counts',
  'log',
  'lanes',
  'turns',
  'leases',
  'due',
  'dead',
  'marks',
  'removed',
  'hidden',
  'records',
]);
/** The key of the scope for operations on names. */
const NAMES = '00'.repeat(GENERATION_BYTES);

/**
 * The damaged rows found so far, and the filters they concern. A filter is lost if a row under its generation is
 * damaged, with two exceptions. A damaged operation record affects only repeats of that operation. Missing journal
 * records are found by the journal's own chain (engine/load.ts).
 */
export class Damage {
  /** Generations, hexadecimal. */
  private readonly lost = new Set<string>();
  /** Generations from damaged keys, which may be wrong. */
  private readonly doubtful = new Map<string, DamagedRow>();
  /** A damaged row that every filter depends on. */
  private fatal: DamagedRow | undefined;

  add(row: DamagedRow): void {
    const { table, key, state } = row;
    if (table === 'journal') return;
    const generation = key.toString('hex', 0, GENERATION_BYTES);
    if (!OF_A_GENERATION.has(table)) this.fatal = row;
    else if (state === RowState.KeyDamaged) this.doubtful.set(generation, row);
    else if (table === 'records') return;
    else if (generation === NAMES) this.fatal = row;
    else this.lost.add(generation);
  }

  /** True if a damaged row may belong to the generation. */
  concerns(generation: string): boolean {
    return this.lost.has(generation) || this.doubtful.has(generation);
  }

  /** Throws DataFileError if a damaged row concerns every filter. */
  assertBearable(): void {
    if (this.fatal) throw new DataFileError(this.fatal.message);
  }

  /** Throws DataFileError if a damaged row cannot be attributed to one of these generations. */
  assertKnown(generations: ReadonlySet<string>): void {
    for (const [generation, row] of this.doubtful) {
      // Accidental damage does not turn the key of one existing generation into the key of another.
      if (!generations.has(generation)) throw new DataFileError(row.message);
    }
  }
}
