import { ProblemError } from '../errors/problem.js';

/** UNAUTHENTICATED, in the same words whatever is wrong with the credentials: who guesses must not learn from it. */
export class Unauthenticated extends ProblemError {
  /** `reason` is for the log. */
  constructor(readonly reason: string) {
    super('UNAUTHENTICATED', 'send a valid API key or token: Authorization: Bearer …', {
      headers: { 'www-authenticate': 'Bearer' },
    });
  }
}
