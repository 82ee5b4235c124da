import { applyDecorators } from '@nestjs/common';
import { ApiOkResponse } from '@nestjs/swagger';
import type { ErrorCode } from '../errors/error-codes.js';
import { Documented } from '../openapi/decorators.js';
import { HistoryView } from './history.view.js';

/** The history route for both kinds. `missing` is the error if the name doesn't exist. */
export function HistoryRoute(missing: ErrorCode): MethodDecorator {
  return applyDecorators(
    Documented({
      access: 'read',
      summary: 'Get the history of the last hours, minute by minute',
      description:
        'The instance that answers keeps at most six hours in memory, and nothing from before it started or ' +
        'before the last clear. It watches at most 500 filters.',
      codes: [missing],
    }),
    ApiOkResponse({ type: HistoryView }),
  );
}
