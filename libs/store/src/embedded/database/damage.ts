import { DataFileError } from '../data-file/data-file.js';
import { GENERATION_BYTES } from './keys.js';
import { RowState, type DamagedRow } from './table.js';

/** The tables whose keys begin with a generation. Damage in any other table may affect every filter. */
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
 * The damaged rows found so far, and the filters they belong to. A filter is lost if a row under its generation is
 * damaged, with two exceptions. A damaged operation record affects only repeats of that operation. The journal's own
 * chain finds missing journal records (engine/load.ts).
 */
export class Damage {
  /** Generations, hexadecimal. */
  private readonly lost = new Set<string>();
  /** Generations in damaged keys, which may be wrong. */
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

  /** Throws DataFileError if a damaged row makes the whole store unusable. */
  assertBearable(): void {
    if (this.fatal) throw new DataFileError(this.fatal.message);
  }

  /** Throws DataFileError if a damaged row can't be attributed to one of these generations. */
  assertKnown(generations: ReadonlySet<string>): void {
    for (const [generation, row] of this.doubtful) {
      // Accidental damage doesn't turn one existing generation's key into another's.
      if (!generations.has(generation)) throw new DataFileError(row.message);
    }
  }
}
