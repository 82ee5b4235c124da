import { AnswerError, ServiceError, UnavailableError, UnreachableError } from '#client';

/** How `unseen` ends. docs/cli.md has the table. */
export const Exit = {
  Done: 0,
  /** `check` found nothing to print, or some items were refused. */
  Partial: 1,
  /** The call is not understood, or a file cannot be read or written. */
  Usage: 2,
  Unreachable: 3,
  Refused: 4,
  /** A fault of the program itself. */
  Defect: 70,
  Interrupted: 130,
} as const;

export type Exit = (typeof Exit)[keyof typeof Exit];

/** An end that was foreseen. The message is one line, for people. */
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

/** The call is not understood, or something local cannot be read or written: the message names it and what is allowed. */
export class UsageError extends Ending {
  override readonly name = 'UsageError';

  constructor(message: string, options?: ErrorOptions) {
    super(Exit.Usage, message, options);
  }
}

/** What was to be fetched from the web was not there. */
export class Unreachable extends Ending {
  override readonly name = 'Unreachable';

  constructor(message: string) {
    super(Exit.Unreachable, message);
  }
}

/** A signal asked for the end. */
export class Interrupted extends Ending {
  override readonly name = 'Interrupted';

  constructor(message = 'interrupted') {
    super(Exit.Interrupted, message);
  }
}

/** How an error ends the program; undefined for a defect. */
export function exitOf(error: unknown): Exit | undefined {
  if (error instanceof Ending) return error.exit;
  // Nobody answered, or none that could serve.
  if ([UnreachableError, AnswerError, UnavailableError].some((type) => error instanceof type))
    return Exit.Unreachable;
  return error instanceof ServiceError ? Exit.Refused : undefined;
}

const LONGEST = 500;

/** What went wrong, in one line that is safe on a terminal. */
export function oneLine(text: string): string {
  const line = text
    .replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]+/g, ' ')
    .trim();
  return line.length > LONGEST ? `${line.slice(0, LONGEST)}…` : line;
}

/** The reason of an error of the system or a library, without its stack. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { message, cause } = error;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  // fetch says no more than that it failed, or ended early; its cause does.
  if (cause instanceof Error && ['fetch failed', 'terminated', ''].includes(message)) return reasonOf(cause);
  if (code?.startsWith('Z_') === true) return `the gzip data is corrupt: ${message}`;
  return message === '' ? (code ?? error.name) : message;
}
