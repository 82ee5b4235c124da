import { AnswerError, PathError, ServiceError, UnavailableError, UnreachableError } from '#client';
import { visible } from '../errors/show.js';

/** Exit statuses of `unseen`. docs/cli.md lists them in a table. */
export const Exit = {
  Done: 0,
  /** `check` found nothing to print, or some items were refused. */
  Partial: 1,
  /** The arguments are invalid, or a file can't be read or written. */
  Usage: 2,
  Unreachable: 3,
  Refused: 4,
  /** A bug in the program. */
  Defect: 70,
  Interrupted: 130,
} as const;

export type Exit = (typeof Exit)[keyof typeof Exit];

/** An expected end of the program. The message is one line for people. */
export class Ending extends Error {
  override readonly name: string = 'Ending';

  constructor(
    readonly exit: Exit,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/**
 * The arguments are invalid, or something local can't be read or written. The message names it and the allowed values.
 */
export class UsageError extends Ending {
  override readonly name = 'UsageError';

  constructor(message: string, options?: ErrorOptions) {
    super(Exit.Usage, message, options);
  }
}

/** Something couldn't be fetched from the web. */
export class Unreachable extends Ending {
  override readonly name = 'Unreachable';

  constructor(message: string) {
    super(Exit.Unreachable, message);
  }
}

/** A signal ended the program. */
export class Interrupted extends Ending {
  override readonly name = 'Interrupted';

  constructor(message = 'interrupted') {
    super(Exit.Interrupted, message);
  }
}

/** The exit status for an error, or undefined for a bug. */
export function exitOf(error: unknown): Exit | undefined {
  if (error instanceof Ending) return error.exit;
  if (error instanceof PathError) return Exit.Usage;
  // The service didn't answer, or was unavailable.
  if ([UnreachableError, AnswerError, UnavailableError].some((type) => error instanceof type))
    return Exit.Unreachable;
  return error instanceof ServiceError ? Exit.Refused : undefined;
}

const LONGEST = 500;

/** The text as one line that is safe on a terminal. */
export function oneLine(text: string): string {
  let line = '';
  // Iterates over characters, so that it never cuts an escape sequence.
  for (const character of text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim()) {
    const longer = line + visible(character);
    if (longer.length > LONGEST) return `${line}…`;
    line = longer;
  }
  return line;
}

/** The text with its lines, safe on a terminal. */
export function lines(text: string): string {
  return text.split('\n').map(visible).join('\n');
}

/** Why a system or library call failed, without the stack. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { message, cause } = error;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  // fetch's error message gives no reason, but the error's cause does.
  if (cause instanceof Error && ['fetch failed', 'terminated', ''].includes(message)) return reasonOf(cause);
  if (code?.startsWith('Z_') === true) return `the gzip data is corrupt: ${message}`;
  return message === '' ? (code ?? error.name) : message;
}
