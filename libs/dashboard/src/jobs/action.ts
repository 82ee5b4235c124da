import type { CallOptions, ChangeOptions, ListVerb, UnseenClient, Verb } from '#client';
import { itemOf, type Line } from '../lines/lines.js';
import type { Scope } from '../session.js';

type Result = string | boolean;

/** A verb of the client for lines. */
export type LineVerb = ListVerb<Line, Result, ChangeOptions>;

/** What is done with a list, line by line. */
export interface Action {
  /** Names it in files. */
  readonly id: string;
  readonly text: string;
  readonly needs: Scope;
  readonly verb: (client: UnseenClient, name: string) => LineVerb;
  /** Words for results that are not words. */
  readonly words?: Readonly<Record<string, string>>;
  /** What words mean that do not explain themselves. */
  readonly meanings?: Readonly<Record<string, string>>;
  /** What is to be known of lines that are done when it was stopped before the others. */
  readonly afterStop?: string;
  /** Whether nothing more can be done after a refusal. Otherwise it can be tried again. */
  readonly endsWith?: (error: Error) => boolean;
}

/** Said of a line that the service does not take. */
export const INVALID = 'invalid';

/** A verb for items or URLs, given lines. */
export function ofItems<Options extends CallOptions>(verb: Verb<string, Result, Options>): LineVerb {
  const call = verb as unknown as ListVerb<string, Result, ChangeOptions>;
  return (lines, options) => call(Array.from(lines, itemOf).values(), options);
}
