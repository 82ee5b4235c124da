import { Injectable } from '@nestjs/common';
import type { Filter, FilterKind } from '#store';
import { isVisible } from '../auth/authorise.js';
import { notFound } from '../errors/not-found.js';
import { invalid, ProblemError } from '../errors/problem.js';
import { show } from '../errors/show.js';
import { OpenFilters } from '../filters/open-filters.js';
import type { Principal } from '../request/principal.js';
import { NAME_PATTERN, NAME_REQUIREMENT } from '../validation/name.js';
import { COMMANDS_OF, keyTypeOf, type KeyType } from './command.js';
import { RespError } from './error-reply.js';

const OTHER: Readonly<Record<FilterKind, FilterKind>> = {
  filter: 'visited-set',
  'visited-set': 'filter',
};
const MOST_KNOWN = 1_000;

/** Finds filters and visited sets, which share one namespace, by the name in a command. */
@Injectable()
export class Targets {
  /** The last known kind of each name, so that most look-ups need one attempt. */
  private readonly kinds = new Map<string, FilterKind>();

  constructor(private readonly filters: OpenFilters) {}

  /**
   * The filter, if the caller may see it. Throws WRONGTYPE if it has another type, or "not found" for the type's kind.
   */
  async open(name: string, type: KeyType, caller: Principal): Promise<Filter> {
    assertName(name);
    const kind = type === 'set' ? 'visited-set' : 'filter';
    if (!isVisible(caller, name)) throw notFound(kind, name);
    const known = await this.search(name, kind, false);
    if (known && keyTypeOf(known) === type) return known;
    // The known filter may be stale: another instance may have replaced it.
    const filter = await this.search(name, kind, true);
    if (filter === undefined) throw notFound(kind, name);
    assertType(filter, type);
    return filter;
  }

  /** The visited set, if the caller may see it. Throws WRONGTYPE, VISITED_SET_NOT_FOUND. */
  async openSet(name: string, caller: Principal): Promise<Filter> {
    const filter = await this.open(name, 'set', caller);
    if (filter.kind === 'visited-set') return filter;
    throw new RespError(
      'WRONGTYPE',
      `"${name}" is a filter, and UNSEEN.* needs a visited set; use SADD or SREM`,
    );
  }

  /** The filter that has the name now. Undefined if there is none, or if the caller can't see it. */
  async find(name: string, caller: Principal): Promise<Filter | undefined> {
    assertName(name);
    return isVisible(caller, name) ? this.search(name, 'visited-set', true) : undefined;
  }

  /** `likely`: the kind to try first. */
  private async search(name: string, likely: FilterKind, fresh: boolean): Promise<Filter | undefined> {
    const first = this.kinds.get(name) ?? likely;
    return (await this.openAs(name, first, fresh)) ?? this.openAs(name, OTHER[first], fresh);
  }

  private async openAs(name: string, kind: FilterKind, fresh: boolean): Promise<Filter | undefined> {
    try {
      const filter = await this.filters.open(name, kind, { fresh });
      if (this.kinds.get(name) !== kind) this.learn(name, kind);
      return filter;
    } catch (error) {
      if (error instanceof ProblemError && error.httpStatus === 404) return undefined;
      throw error;
    }
  }

  private learn(name: string, kind: FilterKind): void {
    if (this.kinds.size >= MOST_KNOWN) this.kinds.clear();
    this.kinds.set(name, kind);
  }
}

/** Throws VALIDATION_FAILED. */
export function assertName(name: string): void {
  if (NAME_PATTERN.test(name)) return;
  throw invalid('#/name', `name must ${NAME_REQUIREMENT}, not ${show(name)}`);
}

/** Throws WRONGTYPE. */
export function assertType(filter: Filter, type: KeyType): void {
  const found = keyTypeOf(filter);
  if (found === type) return;
  throw new RespError(
    'WRONGTYPE',
    `Operation against a key holding the wrong kind of value: "${filter.name}" has the type ${found}; use ${COMMANDS_OF[found]}`,
  );
}
