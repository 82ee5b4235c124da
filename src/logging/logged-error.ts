const MOST_CAUSES = 5;

/** An error as the log has it. */
interface LoggedError {
  readonly type: string;
  readonly message: string;
  readonly stack?: string | undefined;
  readonly code?: unknown;
  readonly cause?: unknown;
}

/**
 * An error by type, message, stack, code and causes only: clients of databases and of HTTP hang the whole command or
 * request on their errors, with the password it authenticates by or the items it carries.
 */
export function loggedError(error: unknown, causes = MOST_CAUSES): unknown {
  if (!(error instanceof Error)) return typeof error === 'object' ? 'an object' : error;
  const { name, message, stack, cause } = error;
  const logged: LoggedError = { type: name, message, stack };
  return {
    ...logged,
    ...('code' in error && { code: error.code }),
    ...(cause !== undefined && causes > 0 && { cause: loggedError(cause, causes - 1) }),
  };
}
