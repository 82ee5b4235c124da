const MOST_CAUSES = 5;

interface LoggedError {
  readonly type: string;
  readonly message: string;
  readonly stack?: string | undefined;
  readonly code?: unknown;
  readonly cause?: unknown;
}

/**
 * An error with only its type, message, stack, code and causes. Database and HTTP clients attach the whole command or
 * request to their errors, including passwords or items.
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
