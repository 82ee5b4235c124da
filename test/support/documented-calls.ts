import { readFileSync } from 'node:fs';

/** Something to paste into a shell, and what is answered; `…` stands for anything. */
export interface DocumentedCall {
  readonly command: string;
  /** Absent if the document shows none. */
  readonly answer?: string;
}

const CALL = /```sh\n(.+?)\n```(?:\n\n```\n(.+?)\n```)?/gs;

/** The `sh` blocks of a document in order, each with the block that follows it directly. */
export function documentedCalls(file: string): DocumentedCall[] {
  return [...readFileSync(file, 'utf8').matchAll(CALL)].map(([, command = '', answer]) =>
    answer === undefined ? { command } : { command, answer },
  );
}

/** Matches what a documented answer promises. */
export function promised(answer: string): RegExp {
  const parts = answer.split('…').map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`);
}
