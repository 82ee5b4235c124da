import { ExportFileError } from './export-file-error.js';

type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns a member that must be a whole number from `min` to `max`. */
export function whole(json: JsonObject, name: string, min: number, max: number): number {
  const value = json[name];
  if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value;
  throw refused(name, min === max ? `be ${min}` : `be a whole number from ${min} to ${max}`, value);
}

/** Returns a member that must be a string matching `pattern`. */
export function text(json: JsonObject, name: string, pattern: RegExp): string {
  const value = json[name];
  if (typeof value === 'string' && pattern.test(value)) return value;
  throw refused(name, `match ${pattern.source}`, typeof value === 'string' ? 'another string' : value);
}

/** Returns a member that must be one of the allowed values. */
export function oneOf<T>(json: JsonObject, name: string, allowed: readonly T[]): T {
  const found = allowed.find((value) => value === json[name]);
  if (found !== undefined) return found;
  throw refused(name, `be one of ${allowed.join(', ')}`, json[name]);
}

/** The message doesn't repeat strings, because the seed is one, and secret. */
function refused(name: string, requirement: string, value: unknown): ExportFileError {
  if (value === undefined) return new ExportFileError(`${name} is missing; it must ${requirement}`);
  const shown = typeof value === 'number' || value === 'another string' ? `not ${value}` : 'but is not';
  return new ExportFileError(`${name} must ${requirement}, ${shown}`);
}
