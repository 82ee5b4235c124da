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

/** Finds filters and visited sets, which share one name space, by the name in a command. */
@Injectable()
export class Targets {
  /** The kind that each name had last, so that most look-ups need one attempt. */
  private readonly kinds = new Map<string, FilterKind>();

  constructor(private readonly filters: OpenFilters) {}

  /** The filter of the type, as far as the caller sees it. Throws WRONGTYPE, or a "not found" of the type's kind. */
  async open(name: string, type: KeyType, caller: Principal): Promise<Filter> {
    const kind = type === 'set' ? 'visited-set' : 'filter';
    const filter = await this.find(name, caller, kind);
    if (filter === undefined) throw notFound(kind, name);
    const found = keyTypeOf(filter);
    if (found === type) return filter;
    throw new RespError(
      'WRONGTYPE',
      `Operation against a key holding the wrong kind of value: "${name}" has the type ${found}; use ${COMMANDS_OF[found]}`,
    );
  }

  /** Undefined if no filter has the name, or if the caller does not see it. `likely`: the kind to try first. */
  async find(
    name: string,
    caller: Principal,
    likely: FilterKind = 'visited-set',
  ): Promise<Filter | undefined> {
    if (!NAME_PATTERN.test(name)) {
      throw invalid('#/name', `name must ${NAME_REQUIREMENT}, not ${show(name)}`);
    }
    if (!isVisible(caller, name)) return undefined;
    const first = this.kinds.get(name) ?? likely;
    return (await this.openAs(name, first)) ?? this.openAs(name, OTHER[first]);
  }

  private async openAs(name: string, kind: FilterKind): Promise<Filter | undefined> {
    try {
      const filter = await this.filters.open(name, kind);
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
