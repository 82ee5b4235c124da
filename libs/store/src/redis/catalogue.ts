import { StaleFilterError, StoreError } from '../errors.js';
import type { FilterKind, ListPage, Operation } from '../store.js';
import type { Connection } from './connection.js';
import { type CatalogueEntry, RedisFilter } from './filter.js';
import { CATALOGUE } from './keys.js';
import { refusal, WINDOW_MS } from './operations.js';
import { catalogueSetScript } from './scripts/catalogue.js';

/** A catalogue entry as it was read: what a later change compares with. */
export interface EntryRead {
  readonly raw: string;
  readonly entry: CatalogueEntry | undefined;
}

/** Outcome of a life-cycle operation, kept under the filter's name. */
export interface LifeCycleRecord {
  readonly fingerprint: string;
  readonly entry?: CatalogueEntry;
  readonly created?: boolean;
}

/** The names and descriptions of filters, and the records of operations on whole filters. */
export class Catalogue {
  constructor(
    private readonly connection: Connection,
    private readonly timeoutMs: number,
  ) {}

  async read(name: string, deadline = Date.now() + this.timeoutMs): Promise<EntryRead> {
    const { client } = this.connection;
    const raw = (await this.connection.repeat(() => client.hget(CATALOGUE.filters, name), deadline)) ?? '';
    return { raw, entry: raw === '' ? undefined : (JSON.parse(raw) as CatalogueEntry) };
  }

  /** The ready entry of a filter of this kind, waiting a while for one that is being made or cleared. */
  async ready(name: string, kind: FilterKind, deadline: number): Promise<CatalogueEntry> {
    for (let wait = 5; ; wait = Math.min(wait * 2, 100)) {
      const { entry } = await this.read(name, deadline);
      if (!entry || entry.kind !== kind || entry.state === 'dropping') {
        throw new StoreError('FILTER_NOT_FOUND', `there is no filter ${name}`);
      }
      if (entry.state === 'ready') return entry;
      if (Date.now() + wait >= deadline) throw busy(entry);
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }

  /** Sets an entry (undefined deletes it) if it still is what was read. Answers whether it was. */
  async set(
    read: EntryRead,
    next: CatalogueEntry | undefined,
    deadline: number,
    record?: { verb: string; operation: Operation; value: LifeCycleRecord },
  ): Promise<string | undefined> {
    const name = (next ?? read.entry)?.name ?? '';
    const kind = (next ?? read.entry)?.kind ?? 'filter';
    const { current, previous } = CATALOGUE.operations[record?.operation.origin ?? 'made'];
    const raw = next ? JSON.stringify(next) : '';
    const reply = await this.connection.run(
      catalogueSetScript,
      [CATALOGUE.filters, CATALOGUE.names(kind), current, previous],
      [
        name,
        read.raw,
        raw,
        next?.state === 'ready' ? '1' : '0',
        record ? recordField(record.verb, name, record.operation) : '',
        record ? JSON.stringify(record.value) : '',
        WINDOW_MS[record?.operation.origin ?? 'made'],
      ],
      deadline,
    );
    if (reply === 1) return raw;
    // The answer to an earlier try may have been lost: the entry is ours already then.
    return (await this.read(name, deadline)).raw === raw ? raw : undefined;
  }

  /** What a life-cycle operation answered, if it has been executed. */
  async recall(verb: string, name: string, operation: Operation): Promise<LifeCycleRecord | undefined> {
    const { client } = this.connection;
    const { current, previous } = CATALOGUE.operations[operation.origin];
    const field = recordField(verb, name, operation);
    const records = await this.connection.repeat(
      () => Promise.all([client.hget(current, field), client.hget(previous, field)]),
      operation.deadline,
    );
    const raw = records[0] ?? records[1];
    if (!raw) {
      const { repeat, madeAt } = operation;
      if (repeat && madeAt !== undefined && Date.now() - madeAt > WINDOW_MS.made)
        throw refusal('EXPIRED', operation);
      return undefined;
    }
    const record = JSON.parse(raw) as LifeCycleRecord;
    if (record.fingerprint !== operation.fingerprint) throw refusal('REUSED', operation);
    return record;
  }

  async list(kind: FilterKind, limit: number, after?: string): Promise<ListPage> {
    const { client } = this.connection;
    const deadline = Date.now() + this.timeoutMs;
    // The empty name keeps the set from ever being empty; it is no filter.
    const from = `(${after ?? ''}`;
    const names = await this.connection.repeat(
      () => client.zrangebylex(CATALOGUE.names(kind), from, '+', 'LIMIT', 0, limit + 1),
      deadline,
    );
    const page = names.slice(0, limit);
    const raws =
      page.length === 0
        ? []
        : await this.connection.repeat(() => client.hmget(CATALOGUE.filters, ...page), deadline);
    const filters = raws
      .flatMap((raw) => (raw ? [JSON.parse(raw) as CatalogueEntry] : []))
      .filter((entry) => entry.state === 'ready')
      .map((entry) => new RedisFilter(entry));
    const next = names.length > limit ? page.at(-1) : undefined;
    return next === undefined ? { filters } : { filters, next };
  }

  /** Server time, ms. */
  async now(deadline: number): Promise<number> {
    const [seconds, micros] = await this.connection.repeat(() => this.connection.client.time(), deadline);
    return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
  }

  /** Why a segment of an open filter is not as it should be. */
  async explainLoss(filter: RedisFilter): Promise<Error> {
    const { entry } = await this.read(filter.name);
    if (!entry || entry.kind !== filter.kind || entry.state === 'dropping') {
      return new StoreError('FILTER_NOT_FOUND', `there is no filter ${filter.name}`);
    }
    if (entry.generation !== filter.generation || entry.state !== 'ready')
      return new StaleFilterError(filter.name);
    return new StoreError(
      'STORE_DATA_LOST',
      `filter ${filter.name} has lost data: a key of it is missing, cut short or outdated; clear it, or drop it and fill it anew`,
    );
  }
}

export function busy(entry: CatalogueEntry): StoreError {
  return new StoreError('FILTER_BUSY', `filter ${entry.name} is ${entry.state}; try again`);
}

const recordField = (verb: string, name: string, operation: Operation) => `${verb}:${name}:${operation.id}`;
