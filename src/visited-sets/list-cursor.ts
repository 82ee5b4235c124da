import { createHash } from 'node:crypto';
import { ApiPropertyOptional } from '@nestjs/swagger';
import { Matches } from 'class-validator';
import type { Filter } from '#store';
import { invalid } from '../errors/problem.js';
import { show } from '../errors/show.js';
import { must } from '../validation/must.js';
import { Optional } from '../validation/optional.js';

const PATTERN = /^[A-Za-z0-9_-]{1,1000}$/;
const REQUIREMENT = 'be the `next` from the previous answer';
const DESCRIPTION =
  '`next` from the previous answer. Valid with the same selection, until the set is cleared';
const SEAL_LENGTH = 8;

/** The member `cursor` in a request for a page. */
export function CursorOption(): PropertyDecorator {
  return (target, member) => {
    ApiPropertyOptional({ type: 'string', description: DESCRIPTION })(target, member);
    Optional()(target, member);
    Matches(PATTERN, must(REQUIREMENT))(target, member);
  };
}

/**
 * Cursors for one list in one generation of a visited set. A store that gets a cursor it didn't issue reads the first
 * page. So a drop with another list's cursor would drop the wrong URLs. To prevent that, a caller's cursor is a seal
 * followed by the store's cursor. The seal is a hash of the list and of the store's cursor.
 */
export class ListCursor {
  private readonly list: readonly unknown[];

  /** `list`: the list's name and the values that select its entries. */
  constructor({ generation }: Pick<Filter, 'generation'>, ...list: readonly (string | undefined)[]) {
    this.list = [generation, ...list];
  }

  /** The store's cursor. Throws VALIDATION_FAILED for another list's cursor. */
  open(cursor: string | undefined): string | undefined {
    if (cursor === undefined) return undefined;
    const inner = cursor.slice(SEAL_LENGTH);
    if (this.seal(inner) === cursor) return inner;
    throw invalid(
      '#/cursor',
      `cursor must ${REQUIREMENT}, not ${show(cursor)}. A cursor is valid only for the same list and selection, and only ` +
        'until the set is cleared. To start again, leave out cursor',
    );
  }

  /** The cursor for callers. */
  seal(inner: string): string {
    const seal = createHash('sha256').update(JSON.stringify([...this.list, inner]));
    return seal.digest('base64url').slice(0, SEAL_LENGTH) + inner;
  }

  /** The member `next` of an answer. */
  nextOf(inner: string | undefined): { readonly next?: string } {
    return inner === undefined ? {} : { next: this.seal(inner) };
  }
}
