import type { IncomingMessage } from 'node:http';
import { ProblemError } from '../errors/problem.js';

/**
 * VALIDATION_FAILED unless a request of HTTP/1.1 names one Host (RFC 9112, 3.2): of two, a proxy before the service may
 * have read the other one. Node would answer the first case without a problem document, and the second not at all.
 */
export function requireOneHost({ httpVersion, rawHeaders }: IncomingMessage): void {
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (rawHeaders[i]?.length === 4 && rawHeaders[i]?.toLowerCase() === 'host') hosts++;
  }
  if (hosts === 1 || (hosts === 0 && httpVersion === '1.0')) return;
  throw new ProblemError('VALIDATION_FAILED', `a request must have one Host header, not ${hosts}`);
}
