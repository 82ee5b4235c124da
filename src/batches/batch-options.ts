import { invalid } from '../errors/problem.js';
import { show } from '../errors/show.js';
import type { BatchOption, Request } from '../request/request.js';
import { LineInput } from './line-input.js';

/** Where a batch's options are. */
export type OptionSource = Pick<Request, 'query' | 'body'>;

/** A whole number in a query, in the only accepted spelling. */
const WHOLE = /^(0|[1-9]\d{0,9})$/;

/**
 * A batch option's value, from the query (parsed by `parse`) or from the JSON body. Undefined if it is in neither.
 * Throws VALIDATION_FAILED if it is in both.
 */
export function optionIn(
  { query, body }: OptionSource,
  option: BatchOption,
  parse: (text: unknown) => unknown = (text) => text,
): unknown {
  const asked = (query as Partial<Record<string, unknown>>)[option];
  const inBody =
    body instanceof LineInput ? undefined : (body as Partial<Record<string, unknown>> | null)?.[option];
  if (asked === undefined) return inBody;
  if (inBody === undefined) return parse(asked);
  const both = `${show(asked)} and ${show(inBody)}`;
  throw invalid(`#/${option}`, `${option} must be in the query or in the body, not both: ${both}`);
}

/** A whole number from `least` to `most`. Throws VALIDATION_FAILED. */
export function wholeOptionIn(
  request: OptionSource,
  option: BatchOption,
  least: number,
  most = Infinity,
): number | undefined {
  const value = optionIn(request, option, numberIn);
  if (value === undefined) return undefined;
  if (Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most)
    return value as number;
  const range = most === Infinity ? `from ${least}` : `from ${least} to ${most}`;
  throw invalid(`#/${option}`, `${option} must be a whole number ${range}, not ${show(value)}`);
}

/** `true` or `false`. Throws VALIDATION_FAILED. */
export function flagOptionIn(request: OptionSource, option: BatchOption): boolean | undefined {
  const value = optionIn(request, option, flagIn);
  if (value === undefined || typeof value === 'boolean') return value;
  throw invalid(`#/${option}`, `${option} must be true or false, not ${show(value)}`);
}

function flagIn(text: unknown): unknown {
  return text === 'true' || text === 'false' ? text === 'true' : text;
}

function numberIn(text: unknown): unknown {
  return typeof text === 'string' && WHOLE.test(text) ? Number(text) : text;
}
