import type { CallOptions, ChangeOptions, ListVerb, UnseenClient, Verb } from '#client';
import { itemOf, type Line } from '../lines/lines.js';
import type { Scope } from '../session.js';

type Result = string | boolean;

/** A client method that takes lines. */
export type LineVerb = ListVerb<Line, Result, ChangeOptions>;

/** What a job does with each line. */
export interface Action {
  /** Used in file names. */
  readonly id: string;
  readonly text: string;
  readonly needs: Scope;
  readonly verb: (client: UnseenClient, name: string) => LineVerb;
  /** Words to show for results that aren't words. */
  readonly words?: Readonly<Record<string, string>>;
  /** Explanations for words that need one. */
  readonly meanings?: Readonly<Record<string, string>>;
  /** Text for users about lines that were done before the job was stopped. */
  readonly afterStop?: string;
  /** True if this error ends the job. Otherwise users can retry. */
  readonly endsWith?: (error: Error) => boolean;
}

/** The word for a line that the service rejects. */
export const INVALID = 'invalid';

/** Turns a call for items or URLs into one for lines. */
export function ofItems<Options extends CallOptions>(verb: Verb<string, Result, Options>): LineVerb {
  const call = verb as unknown as ListVerb<string, Result, ChangeOptions>;
  return (lines, options) => call(Array.from(lines, itemOf).values(), options);
}
