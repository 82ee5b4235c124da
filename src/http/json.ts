import { isAscii } from 'node:buffer';
import { ProblemError } from '../errors/problem.js';
import { PORTION, turn } from '../event-loop/turn.js';
import { jsonErrorAt } from './json-error.js';
import { hasTooManyParts } from './json-parts.js';

/**
 * The value of a JSON text, in valid UTF-8. VALIDATION_FAILED if it is none, or has more than `mostParts`. A step that
 * works on the whole text cannot be cut, but the steps need not be in one turn.
 */
export async function parseJson(raw: Buffer, mostParts: number): Promise<unknown> {
  const large = raw.length > PORTION;
  if (large && turn.isSpent()) await turn.next();
  if (hasTooManyParts(raw, mostParts)) {
    throw new ProblemError(
      'VALIDATION_FAILED',
      `the body has more than ${mostParts} arrays, objects, members and elements in all`,
    );
  }
  if (large && turn.isSpent()) await turn.next();
  const text = raw.toString(isAscii(raw) ? 'latin1' : 'utf8');
  if (large && turn.isSpent()) await turn.next();
  const body = valueOf(text);
  if (body === undefined) {
    throw new ProblemError(
      'VALIDATION_FAILED',
      `the body is not valid JSON at character ${await errorAt(text)}`,
    );
  }
  return body;
}

/** Where the text stops being JSON. */
async function errorAt(text: string): Promise<number> {
  const search = jsonErrorAt(text);
  for (;;) {
    if (turn.isSpent()) await turn.next();
    const { done, value } = search.next();
    if (done) return value;
  }
}

/** Undefined if the text is no JSON. */
function valueOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
