import { applyDecorators } from '@nestjs/common';
import { ApiOkResponse } from '@nestjs/swagger';
import type { ErrorCode } from '../errors/error-codes.js';
import { Documented } from '../openapi/decorators.js';
import { HistoryView } from './history.view.js';

/** The route of both kinds. `missing`: if there is nothing of the name. */
export function HistoryRoute(missing: ErrorCode): MethodDecorator {
  return applyDecorators(
    Documented({
      access: 'read',
      summary: 'Show how it was in the last hours, minute by minute',
      description:
        'From the memory of the instance that answers: at most six hours, and no further back than its start or the last clear. It ' +
        'watches 500, each for as long as it is there.',
      codes: [missing],
    }),
    ApiOkResponse({ type: HistoryView }),
  );
}
