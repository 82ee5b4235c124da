import { type Clock, deadlineIn, msUntil } from '../../clock.js';
import { StaleFilterError, StoreError } from '../../errors.js';
import { joinAll } from '../../join-all.js';
import { assertWithin } from '../../quota.js';
import { busy, dataLost, keyExpired, keyReused, notFound } from '../../refusals.js';
import { SYSTEM_RANDOM, type RandomSource } from '../../random-source.js';
import { RETENTION_MS } from '../../retention.js';
import type { FilterKind, ListPage, Operation, Quota, Usage, Sync } from '../../port/index.js';
import type { Connection } from '../connection/connection.js';
import type { CatalogueEntry, EntryState } from '../layout/entry.js';
import { RedisFilter } from '../layout/filter.js';
import { CATALOGUE } from '../layout/keys.js';
import { windowBytes } from '../layout/operations.js';
import { catalogueSetScript, COUNTED, nowScript, touchCatalogueScript } from '../scripts/catalogue.js';
import { CatalogueKeys, UNCOUNTED } from './catalogue-keys.js';
import { difference } from './entry-usage.js';

/** Sorts after every character of a name. */
const AFTER_NAMES = '\x7f';

/** A catalogue entry as read. A later change applies only if the entry is still the same. */
export interface EntryRead {
  readonly raw: string;
  readonly entry: CatalogueEntry | undefined;
}

/** An entry that exists, as read. */
export interface FoundEntry extends EntryRead {
  readonly entry: CatalogueEntry;
}

/** The result of an operation on a whole filter, recorded under the filter's name. */
export interface CatalogueRecord {
  readonly fingerprint: string;
  readonly entry?: CatalogueEntry;
  readonly created?: boolean;
  /** For an operation on a sync: the sync, and the generation of its filter. */
  readonly sync?: Pick<Sync, 'id'> | Sync;
  readonly generation?: string;
}

/** The record to write in the same step as a change of an entry. */
export interface RecordedOperation {
  readonly verb: string;
  readonly operation: Pick<Operation, 'id' | 'origin'>;
  readonly value: CatalogueRecord;
}

interface SetOptions {
  readonly record?: RecordedOperation | undefined;
  readonly quota?: Quota | undefined;
  /** Called if this call has made the change. Not called if another instance has made the same one first. */
  readonly changed?: (() => void) | undefined;
}

/**
 * The sorted set that lists an entry's name, by the entry's state. A filter that is being cleared stays out of both
 * sets: if the clear dies, the filter that existed before is still there.
 */
const NAME_SETS: Readonly<Record<EntryState, string>> = {
  ready: 'listed',
  creating: 'unfinished',
  dropping: 'unfinished',
  clearing: '',
};

/**
 * The share of its time for which a call waits for another change of an entry. The rest is for its own work and one
 * slow last read. So it can report a busy filter instead of a timeout.
 */
const PATIENCE = 3 / 4;

/** The time at which a call with this deadline stops waiting for another change of an entry. */
export function endOfPatience(deadline: number): number {
  return deadlineIn(msUntil(deadline) * PATIENCE);
}

/** Number of names to read in one step. */
const NAMES_AT_ONCE = 100;

/** The names and descriptions of filters, and the records of operations on whole filters. */
export class Catalogue {
  private readonly keys: CatalogueKeys;

  constructor(
    private readonly connection: Connection,
    private readonly timeoutMs: number,
    /** Limit on the records of operations on whole filters, per origin, in bytes. */
    private readonly maxRecordBytes: number,
    random: RandomSource = SYSTEM_RANDOM,
  ) {
    this.keys = new CatalogueKeys(connection, random);
  }

  get clock(): Clock {
    return this.connection.clock;
  }

  /** The error to throw if Redis has data in another key layout. */
  layoutFault(): Promise<StoreError | undefined> {
    return this.keys.layoutFault(deadlineIn(this.timeoutMs));
  }

  /** True if the catalogue that this process knew is gone or replaced, as of the last read. */
  get lost(): boolean {
    return this.keys.lost;
  }

  /** Throws STORE_UNAVAILABLE if Redis has data in another layout. */
  async read(name: string, deadline = deadlineIn(this.timeoutMs)): Promise<EntryRead> {
    const [found] = await this.raws([name], deadline);
    const raw = found ?? '';
    if (raw === '') await this.keys.assertWhole(deadline);
    return { raw, entry: raw === '' ? undefined : (JSON.parse(raw) as CatalogueEntry) };
  }

  /**
   * Sets an entry (or deletes it, if undefined) if it is still as read. Returns the stored text, which is empty for a
   * deleted entry, or undefined if the entry had changed. Throws QUOTA_EXCEEDED.
   */
  async set(
    read: EntryRead,
    next: CatalogueEntry | undefined,
    deadline: number,
    { record, quota, changed }: SetOptions = {},
  ): Promise<string | undefined> {
    const name = (next ?? read.entry)?.name ?? '';
    const kind = (next ?? read.entry)?.kind ?? 'filter';
    const { current, previous } = CATALOGUE.operations[record?.operation.origin ?? 'made'];
    const raw = next ? JSON.stringify(next) : '';
    const reply = await this.keys.onUsage(deadline, () =>
      this.connection.mutate(
        catalogueSetScript,
        [CATALOGUE.filters, CATALOGUE.names(kind), current, previous, CATALOGUE.usage, CATALOGUE.unfinished],
        [
          name,
          read.raw,
          raw,
          next ? NAME_SETS[next.state] : '',
          record ? recordField(record.verb, name, record.operation) : '',
          record ? JSON.stringify(record.value) : '',
          RETENTION_MS[record?.operation.origin ?? 'made'],
          windowBytes(this.maxRecordBytes),
          quota?.prefix ?? '',
          quota?.maxFilters ?? '',
          quota?.maxBytes ?? '',
        ],
        deadline,
      ),
    );
    if (reply === 1) {
      changed?.();
      return raw;
    }
    if (quota && isUsage(reply)) {
      const [filters, bytes] = reply;
      assertWithin(quota, { filters, bytes }, difference(read.entry, next));
    }
    // If the reply to an earlier attempt was lost, the entry is already ours.
    return (await this.read(name, deadline)).raw === raw ? raw : undefined;
  }

  /**
   * The recorded result of an operation on a whole filter, or undefined if it hasn't run. Throws
   * IDEMPOTENCY_KEY_EXPIRED and IDEMPOTENCY_KEY_REUSED.
   */
  async recall(verb: string, name: string, operation: Operation): Promise<CatalogueRecord | undefined> {
    const { client } = this.connection;
    const { current, previous } = CATALOGUE.operations[operation.origin];
    const field = recordField(verb, name, operation);
    const [newer, older] = await this.connection.repeat(
      () => joinAll([client.hmget(current, '', field), client.hmget(previous, '', field)]),
      operation.deadline,
    );
    const raw = newer?.[1] ?? older?.[1];
    if (!raw) {
      const { repeat, madeAt } = operation;
      // Records from before the current windows are gone.
      const keptSince = Math.max(
        this.connection.now() - RETENTION_MS.made,
        parseInt(older?.[0] ?? '', 10) || 0,
      );
      if (repeat && madeAt !== undefined && madeAt < keptSince) throw keyExpired(operation);
      return undefined;
    }
    const record = JSON.parse(raw) as CatalogueRecord;
    if (record.fingerprint !== operation.fingerprint) throw keyReused(operation);
    // An earlier attempt wrote the record, but may have failed because too few replicas had it. This attempt must wait
    // for them too.
    await this.connection.mutate(touchCatalogueScript, [CATALOGUE.filters], [], operation.deadline);
    return record;
  }

  async usage(prefixes: readonly string[]): Promise<Usage[]> {
    const { client } = this.connection;
    const deadline = deadlineIn(this.timeoutMs);
    const read = () => this.connection.repeat(() => client.hmget(CATALOGUE.usage, '', ...prefixes), deadline);
    const rows = await this.keys.onUsage(deadline, async () => {
      const [counted, ...found] = await read();
      return counted === COUNTED ? found : UNCOUNTED;
    });
    return rows.map((row) => {
      const [filters = 0, bytes = 0] = (row ?? '0 0').split(' ').map(Number);
      return { filters, bytes };
    });
  }

  async list(kind: FilterKind, limit: number, after = '', prefix = ''): Promise<ListPage> {
    const deadline = deadlineIn(this.timeoutMs);
    const names = await this.names(CATALOGUE.names(kind), limit + 1, after, prefix, deadline);
    const page = names.slice(0, limit);
    const raws = await this.raws(page, deadline);
    if (raws.includes(null)) await this.keys.assertWhole(deadline);
    const filters = raws
      .flatMap((raw) => (raw ? [JSON.parse(raw) as CatalogueEntry] : []))
      .filter((entry) => entry.state === 'ready')
      .map((entry) => new RedisFilter(entry));
    const next = names.length > limit ? page.at(-1) : undefined;
    return next === undefined ? { filters } : { filters, next };
  }

  /** Entries under `prefix` that are being created or dropped, or were when their instance died. Reads page by page. */
  async *unfinished(prefix: string, deadline: number): AsyncGenerator<EntryRead, void, undefined> {
    for (let after = '', full = true; full;) {
      const names = await this.names(CATALOGUE.unfinished, NAMES_AT_ONCE, after, prefix, deadline);
      for (const raw of await this.raws(names, deadline)) {
        if (raw) yield { raw, entry: JSON.parse(raw) as CatalogueEntry };
      }
      full = names.length === NAMES_AT_ONCE;
      after = names.at(-1) ?? after;
    }
  }

  /** Names in a sorted set that begin with `prefix`, in order. */
  private names(
    key: string,
    limit: number,
    after: string,
    prefix: string,
    deadline: number,
  ): Promise<string[]> {
    const { client } = this.connection;
    // The empty name is not a filter. It only keeps the set from being empty.
    const from = after < prefix ? `[${prefix}` : `(${after}`;
    const to = prefix === '' ? '+' : `(${prefix}${AFTER_NAMES}`;
    return this.connection.repeat(() => client.zrangebylex(key, from, to, 'LIMIT', 0, limit), deadline);
  }

  /** Throws STORE_UNAVAILABLE if Redis has data in another layout, even without names. */
  private async raws(names: readonly string[], deadline: number): Promise<(string | null)[]> {
    const { client } = this.connection;
    const read = () => client.hmget(CATALOGUE.filters, '', ...names);
    const [identity = null, ...found] = await this.connection.repeat(read, deadline);
    const fault = this.keys.note(identity);
    if (fault) throw fault;
    return found;
  }

  /** The server's time, in ms. */
  async now(deadline: number): Promise<number> {
    return Number(await this.connection.run(nowScript, [CATALOGUE.filters], [], deadline));
  }

  /** The entry of an open filter. Throws the errors of `Counters` if the filter is gone or its handle is stale. */
  async entryOf(filter: RedisFilter, deadline: number): Promise<FoundEntry> {
    const { raw, entry } = await this.read(filter.name, deadline);
    if (entry?.state !== 'ready' || !isOf(filter, entry)) throw await this.explainLoss(filter);
    return { raw, entry };
  }

  /** Like `entryOf`, but also updates the handle's knowledge of the sync. */
  async learn(filter: RedisFilter, deadline: number): Promise<FoundEntry> {
    const found = await this.entryOf(filter, deadline);
    filter.known.learn(found.entry);
    return found;
  }

  /** Finds the error to throw when a segment of an open filter is not as expected. */
  async explainLoss(filter: RedisFilter): Promise<Error> {
    const { entry } = await this.read(filter.name);
    if (!entry || entry.kind !== filter.kind || entry.state === 'dropping') {
      return notFound(filter);
    }
    if (!isOf(filter, entry) || entry.state !== 'ready') return new StaleFilterError(filter.name);
    return dataLost(filter);
  }
}

/** True if an entry has a handle's generation and layers. */
function isOf(filter: RedisFilter, { generation, base = 0 }: CatalogueEntry): boolean {
  return generation === filter.generation && base === filter.base;
}

/** The change that is in progress in each state of an entry. */
const CHANGES = {
  creating: 'is being created',
  ready: 'is changing',
  clearing: 'is being cleared',
  dropping: 'is being deleted',
} as const;

/** The error while another operation changes the entry. */
export function underWay(entry: CatalogueEntry): StoreError {
  return busy(entry, CHANGES[entry.state]);
}

function isUsage(reply: unknown): reply is [filters: number, bytes: number] {
  return Array.isArray(reply) && reply.length === 2;
}

/** Names and operation keys may contain ":", but no name contains "\0". */
const recordField = (verb: string, name: string, operation: Pick<Operation, 'id'>) =>
  `${verb}:${name}\0${operation.id}`;
