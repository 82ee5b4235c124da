import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from '../http/request.js';
import { ANONYMOUS, type Principal } from './principal.js';

/** Parameter of a route that is not public: who asks. */
export const Caller = createParamDecorator((_: unknown, context: ExecutionContext): Principal => {
  const { principal } = context.switchToHttp().getRequest<Request>();
  if (!principal) throw new Error('a public route has no caller');
  return principal;
});

/** Who is counted for a request: the principal, or the address where everyone is the same one. */
export function callerOf({ principal, ip }: Pick<Request, 'principal' | 'ip'>): string {
  return principal === undefined || principal.id === ANONYMOUS.id ? `address:${ip}` : principal.id;
}
