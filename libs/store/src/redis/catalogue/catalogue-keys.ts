import { StoreError } from '../../errors.js';
import { joinAll } from '../../join-all.js';
import { otherLayout } from '../../refusals.js';
import type { RandomSource } from '../../random-source.js';
import type { FilterKind } from '../../port/index.js';
import type { Connection } from '../connection/connection.js';
import { CATALOGUE, LAYOUT_VERSION } from '../layout/keys.js';
import { countUsageScript, makeHashScript, makeNamesScript } from '../scripts/catalogue.js';

/** A script's reply if it changed nothing because the usage must be counted first. */
export const UNCOUNTED = 'UNCOUNTED';

const KINDS: readonly FilterKind[] = ['filter', 'visited-set'];

/** Bytes of a catalogue's id. */
const ID_BYTES = 8;

/** Creates the catalogue's keys. Recounts lost usage, but throws if the descriptions are lost. */
export class CatalogueKeys {
  private areMade = false;
  /** The first identity that this process has seen, and the last. The last is null if there was no catalogue. */
  private first: string | undefined;
  private last: string | null = null;

  constructor(
    private readonly connection: Connection,
    private readonly random: RandomSource,
  ) {}

  /** True if the catalogue that this process knew is gone, or if another one has taken its place. */
  get lost(): boolean {
    return this.first !== undefined && this.last !== this.first;
  }

  /** Runs a step that needs the usage. If the usage is lost, recounts it and runs the step again. */
  async onUsage<T>(deadline: number, step: () => Promise<T>): Promise<Exclude<T, typeof UNCOUNTED>> {
    for (let attempt = 1; attempt <= 2; attempt++) {
      await this.make(deadline);
      const result = await step();
      if (result !== UNCOUNTED) return result as Exclude<T, typeof UNCOUNTED>;
      this.areMade = false;
    }
    throw new StoreError('STORE_UNAVAILABLE', "Redis lost the prefixes' usage twice during the call; retry");
  }

  /** The error to throw if Redis has data in another key layout. */
  async layoutFault(deadline: number): Promise<StoreError | undefined> {
    const { client } = this.connection;
    return this.note(await this.connection.repeat(() => client.hget(CATALOGUE.filters, ''), deadline));
  }

  /**
   * Takes note of the catalogue's identity as read, which is null before the first filter is created. Returns the error
   * to throw if the data has another key layout.
   */
  note(identity: string | null): StoreError | undefined {
    const version = identity?.split(' ', 1)[0];
    if (version !== undefined && version !== LAYOUT_VERSION) return otherLayout(version, LAYOUT_VERSION);
    this.first ??= identity ?? undefined;
    this.last = identity;
    return undefined;
  }

  /**
   * Creates each key of the catalogue in its own script. While a slot moves to another node, Redis refuses a script if
   * some of its keys don't exist. Throws STORE_DATA_LOST instead of replacing lost descriptions.
   */
  private async make(deadline: number): Promise<void> {
    if (this.areMade) return;
    await this.assertWhole(deadline);
    const { filters, names, operations, unfinished, usage, syncs } = CATALOGUE;
    const { caller, made } = operations;
    const hashes = [caller.current, caller.previous, made.current, made.previous, usage];
    const identity = `${LAYOUT_VERSION} ${this.random.id(ID_BYTES)}`;
    // Create this key first, because assertWhole relies on it.
    await this.connection.mutate(makeHashScript, [filters], [identity], deadline);
    // An instance of another version may have been faster.
    const fault = await this.layoutFault(deadline);
    if (fault) throw fault;
    await joinAll([
      ...hashes.map((key) => this.connection.mutate(makeHashScript, [key], [''], deadline)),
      ...[...KINDS.map(names), unfinished, syncs].map((key) =>
        this.connection.mutate(makeNamesScript, [key], [], deadline),
      ),
    ]);
    await this.connection.mutate(countUsageScript, [filters, usage], [], deadline);
    this.areMade = true;
  }

  /**
   * Throws STORE_DATA_LOST if the descriptions are gone (for example, evicted) but another key of the catalogue exists.
   * The descriptions are created first, so they must have existed. Without this check, the store would report every
   * filter as nonexistent, and callers could re-create it empty.
   */
  async assertWhole(deadline: number): Promise<void> {
    const { client } = this.connection;
    const made = () => this.connection.repeat(() => client.exists(CATALOGUE.filters), deadline);
    if ((await made()) === 1) return;
    // Redis may have been emptied, so the keys must be created again.
    this.areMade = false;
    const { caller } = CATALOGUE.operations;
    const others = [...KINDS.map(CATALOGUE.names), caller.current, caller.previous];
    const found = await joinAll(
      others.map((key) => this.connection.repeat(() => client.exists(key), deadline)),
    );
    // Or another call has created the key since the first check.
    if (!found.includes(1) || (await made()) === 1) return;
    throw new StoreError('STORE_DATA_LOST', 'the filter catalogue is missing: restore it');
  }
}
