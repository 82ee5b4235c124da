/** Encodes part of a path. Throws RangeError, with `rule`, for a text that would lead to a different path. */
export function partOfPath(text: string, rule: string): string {
  if (text === '' || text === '.' || text === '..')
    throw new RangeError(`${rule}, not ${JSON.stringify(text)}`);
  return encodeURIComponent(text);
}
