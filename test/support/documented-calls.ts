import { readFileSync } from 'node:fs';

/** A shell command and its documented output. `…` stands for any text. */
export interface DocumentedCall {
  readonly command: string;
  /** Absent if the document shows no output. */
  readonly answer?: string;
}

const CALL = /```sh\n(.+?)\n```(?:\n\n```\n(.+?)\n```)?/gs;

/** A document's `sh` blocks in order, each with the block that directly follows it. */
export function documentedCalls(file: string): DocumentedCall[] {
  return [...readFileSync(file, 'utf8').matchAll(CALL)].map(([, command = '', answer]) =>
    answer === undefined ? { command } : { command, answer },
  );
}

/** A pattern that matches the documented output. */
export function promised(answer: string): RegExp {
  const parts = answer.split('…').map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`);
}
