import { ProblemError } from '../errors/problem.js';

/** UNAUTHENTICATED. The message is the same for all faults, so that it doesn't help anyone guess credentials. */
export class Unauthenticated extends ProblemError {
  /** `reason` is for the log. */
  constructor(readonly reason: string) {
    super(
      'UNAUTHENTICATED',
      'credentials are missing or not valid; send a valid API key or token: Authorization: Bearer …',
      {
        headers: { 'www-authenticate': 'Bearer' },
      },
    );
  }
}
