import type { Method } from './http.js';

/** How operations of one kind are sent and their answers read. */
export interface Protocol<Op, Answers> {
  /** The route (by default POST) and the body: text is sent as lines, all else as JSON. */
  request(operation: Op): { readonly path: string; readonly body?: unknown; readonly method?: Method };
  /** Whether it can change anything. What cannot needs no record and no retry. */
  mutates(operation: Op): boolean;
  /** Whether a status other than 200 is an answer, too, with this code if it is an error. */
  answers?(operation: Op, status: number, code: unknown): boolean;
  /** What the body of an answer says; undefined if it makes no sense. */
  read(operation: Op, body: Readonly<Record<string, unknown>>, status: number): Answers | undefined;
}
