import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from '../http/request.js';
import { validateShallow } from '../validation/shallow.pipe.js';
import { StreamQueryDto } from './batch.dto.js';
import type { StreamAnswer } from './batch.js';

const NO_LIMITS = { maxItems: 0, maxItemBytes: 0 };

/** Parameter of a batch route: how to answer if the body is a stream (`?results=none`). */
export const Answer = createParamDecorator((_: unknown, context: ExecutionContext): StreamAnswer => {
  const request = context.switchToHttp().getRequest<Request>();
  const { results } = validateShallow(StreamQueryDto, request.query, NO_LIMITS);
  const confirmCaller = (): Promise<void> => request.server.confirmCaller(request);
  return { requestId: request.id, lastLineOnly: results === 'none', confirmCaller };
});
