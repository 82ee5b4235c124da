import { Inject, Injectable } from '@nestjs/common';
import { filterBytes } from '#bloom';
import {
  joinAll,
  StaleFilterError,
  StoreError,
  type Filter,
  type FilterKind,
  type FilterSpec,
  type FilterStats,
  type Operation,
  type Part,
} from '#store';
import { authoriseCreation } from '../auth/authorise.js';
import type { Principal } from '../request/principal.js';
import { Config } from '../config/config.js';
import { ProblemError } from '../errors/problem.js';
import { RandomSource } from '../store/random-source.token.js';
import { Store } from '../store/store.token.js';
import { humanBytes } from './bytes.js';
import type { Growth, ListQueryDto } from './filter.dto.js';
import { DEFAULT_PAGE } from './filter.dto.js';
import { FilterPlanner } from './filter-planner.js';
import { inWordsOf, OpenFilters } from './open-filters.js';

/** A filter and its statistics. */
export interface Described {
  readonly filter: Filter;
  readonly stats: FilterStats;
}

/** A filter in a list. If `stats` is absent, its data is lost. */
export interface Listed {
  readonly filter: Filter;
  readonly stats?: FilterStats;
}

/** The life cycle of both kinds of filters. Each kind's services create the views. */
@Injectable()
export class FilterLifecycle {
  constructor(
    @Inject(Store) private readonly store: Store,
    @Inject(Config) private readonly config: Config,
    @Inject(RandomSource) private readonly random: RandomSource,
    private readonly filters: OpenFilters,
    private readonly planner: FilterPlanner,
  ) {}

  /**
   * Creates a filter. `created` is false if the same filter already exists. Throws FORBIDDEN, FILTER_TOO_LARGE,
   * FILTER_EXISTS, QUOTA_EXCEEDED, and port errors.
   */
  async create(
    { growth, ...spec }: Omit<FilterSpec, 'geometry' | 'layers' | 'seed'> & { readonly growth: Growth },
    operation: Operation,
    caller: Principal,
  ): Promise<Described & { created: boolean }> {
    authoriseCreation(caller, spec.name);
    const planned = this.planner.plan({ ...spec, growth });
    this.planner.refuseTooLarge(planned.geometry);
    try {
      const { filter, created } = await this.store.create(
        { ...spec, ...planned, seed: this.random.seed() },
        operation,
        caller.quota,
      );
      return { ...(await this.describe(filter)), created };
    } catch (error) {
      throw droppedSince(spec, error);
    }
  }

  /**
   * Creates a filter with an export's contents. Throws FORBIDDEN, FILTER_TOO_LARGE, QUOTA_EXCEEDED, errors from
   * `parts`, and port errors.
   */
  async import(
    spec: FilterSpec,
    parts: AsyncIterable<Part>,
    operation: Operation,
    caller: Principal,
  ): Promise<Described> {
    authoriseCreation(caller, spec.name);
    this.planner.refuseTooLarge(spec.geometry);
    const bounded = this.bounded(spec);
    const within = bounded.layers ? this.refuseBeyond(parts, bounded.layers.length) : parts;
    try {
      const filter = await this.store.transfer.import(bounded, within, operation, caller.quota);
      return await this.describe(filter);
    } catch (error) {
      throw droppedSince(spec, error);
    }
  }

  get(name: string, kind: FilterKind): Promise<Described> {
    return this.filters.withFilter(name, kind, async (filter) => ({
      filter,
      stats: await this.store.describe(filter),
    }));
  }

  /**
   * A page of the caller's filters, and the cursor for the next page. Leaves out filters that were dropped during the
   * call. A filter whose data is lost doesn't hide the others.
   */
  async list(
    kind: FilterKind,
    { limit, cursor }: ListQueryDto,
    { prefix }: Principal,
  ): Promise<{ page: Listed[]; next?: string }> {
    const { filters, next } = await this.store.list(
      kind,
      limit === undefined ? DEFAULT_PAGE : Number(limit),
      cursor,
      prefix,
    );
    const page = await joinAll(filters.map((filter) => this.describeListed(filter)));
    return { page: page.filter((one) => one !== undefined), ...(next !== undefined && { next }) };
  }

  async drop(name: string, kind: FilterKind, operation: Operation): Promise<void> {
    await this.store.drop(name, kind, operation).catch((error: unknown) => {
      throw inWordsOf(kind, name, error);
    });
  }

  async clear(name: string, kind: FilterKind, operation: Operation): Promise<Described> {
    const filter = await this.store.clear(name, kind, operation).catch((error: unknown) => {
      throw inWordsOf(kind, name, error);
    });
    return this.describe(filter);
  }

  /** Returns undefined if the filter was dropped. */
  private async describeListed(filter: Filter): Promise<Listed | undefined> {
    try {
      return await this.describe(filter);
    } catch (error) {
      if (hasCode(error, GONE)) return undefined;
      if (hasCode(error, LOST)) return { filter };
      throw error;
    }
  }

  /** The spec without layers that would exceed MAX_FILTER_BYTES. */
  private bounded(spec: FilterSpec): FilterSpec {
    let bytes = 0;
    const layers = spec.layers?.filter(({ geometry }, number) => {
      bytes += filterBytes(geometry);
      return number === 0 || bytes <= this.config.maxFilterBytes;
    });
    return layers ? { ...spec, layers } : spec;
  }

  /** Throws FILTER_TOO_LARGE if the export has cells in a layer beyond the limit. */
  private async *refuseBeyond(
    parts: AsyncIterable<Part>,
    layers: number,
  ): AsyncGenerator<Part, void, undefined> {
    for await (const part of parts) {
      if (part.type === 'cells' && part.layer >= layers) {
        const limit = humanBytes(this.config.maxFilterBytes);
        throw new ProblemError(
          'FILTER_TOO_LARGE',
          `the exported filter takes more than the ${limit} that MAX_FILTER_BYTES allows; nothing was imported. The operator can raise MAX_FILTER_BYTES`,
        );
      }
      yield part;
    }
  }

  /** Describes the given filter, or the newer generation that has replaced it. */
  private async describe(filter: Filter): Promise<Described> {
    try {
      return { filter, stats: await this.store.describe(filter) };
    } catch (error) {
      if (error instanceof StaleFilterError) return this.get(filter.name, filter.kind);
      throw inWordsOf(filter.kind, filter.name, error);
    }
  }
}

/** The error for a repeated creation: it changes nothing, even if the first attempt's filter has been dropped since. */
function droppedSince({ kind, name }: Pick<FilterSpec, 'kind' | 'name'>, error: unknown): unknown {
  const problem = inWordsOf(kind, name, error);
  if (!(problem instanceof ProblemError) || problem.httpStatus !== 404) return problem;
  const detail = `the operation has succeeded, but "${name}" has been deleted since; create it again with another Idempotency-Key`;
  return new ProblemError(problem.code, detail, { cause: error });
}

const GONE: ReadonlySet<string> = new Set(['FILTER_NOT_FOUND', 'VISITED_SET_NOT_FOUND', 'FILTER_BUSY']);
const LOST: ReadonlySet<string> = new Set(['STORE_DATA_LOST']);

function hasCode(error: unknown, codes: ReadonlySet<string>): boolean {
  return (error instanceof ProblemError || error instanceof StoreError) && codes.has(error.code);
}
