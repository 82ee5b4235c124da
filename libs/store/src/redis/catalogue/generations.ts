import { runsOf } from '#bloom';
import { deadlineIn } from '../../clock.js';
import { StoreError } from '../../errors.js';
import type { RandomSource } from '../../random-source.js';
import type { FilterSpec, Operation } from '../../port/index.js';
import type { Allocation } from './allocation.js';
import type { Catalogue, FoundEntry, RecordedOperation } from './catalogue.js';
import type { CatalogueChange, HeldEntry } from './catalogue-change.js';
import { Claim } from './claim.js';
import { allLayers, allTags, type BegunOperation, type CatalogueEntry, layersIn } from '../layout/entry.js';
import { segmentTags } from '../layout/keys.js';
import { itemsPerScript } from '../layout/packing.js';

const GENERATION_BYTES = 8;
/** Extra time for a failed operation to clean up before it throws its error, in ms. */
const UNDO_MS = 2_000;

/** How to create a new generation. */
export interface Making extends Pick<CatalogueChange, 'quota' | 'makeRoom'> {
  readonly operation: Pick<Operation, 'id' | 'origin' | 'fingerprint' | 'deadline'>;
  /** If given, the operation is recorded under this verb. */
  readonly verb?: string | undefined;
  /** Creates the keys. Default: all keys, empty. */
  readonly fill?: ((claim: Claim) => Promise<void>) | undefined;
  /** Time for the publication in ms. Set if filling may take longer than the operation's deadline. */
  readonly publishMs?: number | undefined;
}

/** The changes that create and remove a filter's generations. */
export class Generations {
  constructor(
    private readonly catalogue: Catalogue,
    private readonly allocation: Allocation,
    private readonly random: RandomSource,
  ) {}

  /** The entry for a filter's new generation. */
  describe(
    spec: FilterSpec,
    verb: string,
    operation: Begun,
    now: number,
    before: CatalogueEntry | undefined,
  ): CatalogueEntry {
    const generation = this.random.id(GENERATION_BYTES);
    const { name, kind, type, semantics, capacity, errorRate, geometry, layers } = spec;
    const { urlProfile, maxAttempts, maxAgeSeconds, perHost } = spec;
    const planned = layers ? layers.map((layer) => layer.geometry) : [geometry];
    return {
      ...{ name, kind, type, semantics, capacity, errorRate, geometry },
      ...(layers === undefined ? {} : { layers, made: 1 }),
      ...(urlProfile === undefined ? {} : { urlProfile }),
      ...(maxAttempts === undefined ? {} : { maxAttempts }),
      ...(maxAgeSeconds === undefined ? {} : { maxAgeSeconds }),
      ...(perHost === undefined ? {} : { perHost }),
      seed: Buffer.from(spec.seed).toString('hex'),
      generation,
      createdAt: now,
      tags: segmentTags(generation, runsOf(geometry)),
      itemsPerScript: itemsPerScript(planned, perHost !== undefined),
      state: 'creating',
      since: now,
      operation: begun(verb, operation),
      ...(before ? retire(before) : { retired: [] }),
    };
  }

  /** The entry for a filter's next, empty generation. */
  emptied(entry: CatalogueEntry, verb: string, operation: Begun, now: number): CatalogueEntry {
    const spec = { ...entry, seed: this.random.seed() };
    const { original } = entry;
    const emptied = this.describe(spec, verb, operation, now, entry);
    return { ...emptied, ...(original && { original }), state: 'clearing' };
  }

  /** Creates the generation of an entry from `describe` or `emptied`, and deletes the keys that the entry retires. */
  making(entry: CatalogueEntry, how: Making): CatalogueChange {
    const { operation, verb, quota, makeRoom, publishMs } = how;
    const { deadline, fingerprint } = operation;
    const fill = how.fill ?? ((claim: Claim) => allocateAll(claim, deadline));
    return {
      ...{ announced: entry, deadline, quota, makeRoom },
      prepare: async (held) => {
        await this.allocation.free(entry.retired ?? [], entry.retiredLayers ?? [], deadline);
        await fill(new Claim(this.catalogue, this.allocation, held));
      },
      publish: ({ operation: _done, retired: _gone, retiredLayers: _layers, ...rest }) => {
        const ready: CatalogueEntry = { ...rest, state: 'ready' };
        const value = { fingerprint, entry: ready, created: true };
        const record = verb === undefined ? undefined : { verb, operation, value };
        return { entry: ready, record, ...(publishMs !== undefined && { deadline: deadlineIn(publishMs) }) };
      },
      undo: (held, error) => this.undo(held, error),
    };
  }

  /** Removes the filter of `entry`. */
  removing(
    entry: CatalogueEntry,
    now: number,
    deadline: number,
    of?: { readonly verb: string; readonly operation: Operation },
  ): CatalogueChange {
    const { operation: begunBefore, ...rest } = entry;
    // A dead drop finishes under its own operation, so that a retry of the drop changes nothing. A retry of a dead
    // creation must not take over this removal. It waits until the filter is gone.
    const left = entry.state === 'dropping' ? begunBefore : undefined;
    const operation = of ? begun(of.verb, of.operation) : left;
    const announced: CatalogueEntry = {
      ...{ ...rest, state: 'dropping', since: now, ...retire(entry) },
      ...(operation !== undefined && { operation }),
    };
    const record: RecordedOperation | undefined = operation && {
      ...{ verb: operation.verb, operation },
      value: { fingerprint: operation.fingerprint },
    };
    return {
      ...{ announced, deadline },
      prepare: () => this.allocation.free(announced.retired ?? [], announced.retiredLayers ?? [], deadline),
      publish: () => ({ entry: undefined, record }),
    };
  }

  /**
   * Frees the keys of a failed creation, if Redis is reachable. The next call that creates a filter with this name, or
   * needs its room, frees the rest. After a failed clear, the filter stays stale, and the next call finishes the clear.
   * If another instance has taken over, frees only the keys that this call created. Never frees a published
   * generation's keys, because the publication may have succeeded even if its reply was lost.
   */
  private async undo(held: HeldEntry, error: unknown): Promise<void> {
    const { entry } = held;
    const deadline = deadlineIn(UNDO_MS);
    const found =
      (error === undefined ? undefined : await this.makeStale(held.read, deadline)) ??
      (await this.findOut(held, error, deadline));
    if (found === 'published') return;
    if (found?.entry.state !== 'creating') {
      await this.allocation.free(entry.tags, layersIn(entry), deadline);
      return;
    }
    await this.allocation.free(allTags(found.entry), allLayers(found.entry), deadline);
    // Late commands may still create keys. The entry stays, so that the next call frees them.
    if (!isUnsettled(error)) await this.catalogue.set(found, undefined, deadline);
  }

  /**
   * Makes an entry stale. A publication that seemed to fail can then no longer succeed unnoticed. Returns undefined if
   * the entry has changed since it was read.
   */
  private async makeStale(read: FoundEntry, deadline: number): Promise<FoundEntry | undefined> {
    const entry = { ...read.entry, since: 0 };
    const raw = await this.catalogue.set(read, entry, deadline);
    return raw === undefined ? undefined : { raw, entry };
  }

  /** Reads an entry that has changed. Makes it stale if this call made the change. */
  private async findOut(
    held: HeldEntry,
    error: unknown,
    deadline: number,
  ): Promise<FoundEntry | 'published' | undefined> {
    const { generation, name, state } = held.entry;
    const { raw, entry } = await this.catalogue.read(name, deadline);
    if (entry?.generation !== generation) return undefined;
    if (entry.state === 'ready') return 'published';
    // If the state is the same, an update succeeded and only its reply was lost. If not, the entry was published and is
    // now being dropped.
    return error !== undefined && entry.state === state
      ? this.makeStale({ raw, entry }, deadline)
      : undefined;
  }
}

async function allocateAll(claim: Claim, deadline: number): Promise<void> {
  for (const segment of claim.entry.tags.keys()) await claim.allocate(segment, deadline);
}

type Begun = Omit<BegunOperation, 'verb'>;

function begun(verb: string, { id, origin, fingerprint }: Begun): BegunOperation {
  return { verb, id, origin, fingerprint };
}

/** True if the entry says that this operation is in progress. */
export function isBegun({ operation }: CatalogueEntry, verb: string, { id, fingerprint }: Begun): boolean {
  return operation?.verb === verb && operation.id === id && operation.fingerprint === fingerprint;
}

/** The segments and layers to delete for an entry that is replaced or dropped. */
function retire(entry: CatalogueEntry): Pick<CatalogueEntry, 'retired' | 'retiredLayers'> {
  return { retired: allTags(entry), retiredLayers: allLayers(entry) };
}

/** True if commands may still be in progress, because a lost connection may still deliver them. */
function isUnsettled(error: unknown): boolean {
  return error instanceof StoreError && error.code === 'STORE_UNAVAILABLE';
}
