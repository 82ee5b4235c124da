import { DataFileError } from './data-file.js';
import { GENERATION_BYTES } from './keys.js';
import { RowState, type DamagedRow } from './table.js';

/** The tables whose keys begin with a generation, by what a damaged row of it means to that. */
const OF_A_GENERATION: ReadonlySet<string> = new Set([
  'states',
  'blocks',
  'block-counts',
  'entries',
  'order',
  'records',
]);
/** The scope of the operations on names. */
const NAMES = '00'.repeat(GENERATION_BYTES);

/**
 * What is known of damaged rows, and which filters they concern. A damaged row under its generation loses a filter, with
 * two exceptions: a damaged operation record loses only that operation, for those who repeat it, and the chain of the
 * journal itself says which of its records are missing (load.ts).
 */
export class Damage {
  /** Generations, hexadecimal. */
  private readonly lost = new Set<string>();
  /** Generations as damaged keys have them, which may be those of others. */
  private readonly doubtful = new Map<string, DamagedRow>();
  /** A row that all depends on. */
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

  /** Something of the generation is damaged. */
  concerns(generation: string): boolean {
    return this.lost.has(generation) || this.doubtful.has(generation);
  }

  /** DataFileError if there is a damaged row without which it is not known what there is. */
  assertBearable(): void {
    if (this.fatal) throw new DataFileError(this.fatal.message);
  }

  /** DataFileError if there is a damaged row of which it is not known which of these generations it concerns. */
  assertKnown(generations: ReadonlySet<string>): void {
    for (const [generation, row] of this.doubtful) {
      // By accident a key does not get a generation that there is.
      if (!generations.has(generation)) throw new DataFileError(row.message);
    }
  }
}
