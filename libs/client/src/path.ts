/** A name, host or id that can't be part of a path. */
export class PathError extends RangeError {}

export const ISSUED = 'an id must be one that the service issued';

/** Encodes part of a path. Throws PathError, with `rule`, for a text that would lead to a different path. */
export function partOfPath(text: string, rule: string): string {
  if (text === '' || text === '.' || text === '..')
    throw new PathError(`${rule}, not ${JSON.stringify(text)}`);
  return encodeURIComponent(text);
}
