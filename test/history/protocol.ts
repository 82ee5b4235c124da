import type { Method } from './http.js';

/** How one kind of operation is sent and how its answers are read. */
export interface Protocol<Op, Answers> {
  /** The route (default method: POST) and the body. A string is sent as lines, anything else as JSON. */
  request(operation: Op): { readonly path: string; readonly body?: unknown; readonly method?: Method };
  /** Whether it can change anything. Other operations need no record and no retry. */
  mutates(operation: Op): boolean;
  /** Whether a status other than 200, with this code if it is an error, also counts as an answer. */
  answers?(operation: Op, status: number, code: unknown): boolean;
  /** The answers in a body. Undefined if the body is malformed. */
  read(operation: Op, body: Readonly<Record<string, unknown>>, status: number): Answers | undefined;
}
