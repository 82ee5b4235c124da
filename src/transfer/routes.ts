import { applyDecorators, type Type } from '@nestjs/common';
import { ApiBody, ApiConsumes, ApiCreatedResponse, ApiOkResponse, ApiProduces } from '@nestjs/swagger';
import type { ErrorCode } from '../errors/error-codes.js';
import { EXPORT_TYPES } from '../http/body.js';
import { Documented, MutatingRoute } from '../openapi/decorators.js';

interface TransferDoc {
  readonly summary: string;
  readonly codes: readonly ErrorCode[];
}

const BINARY = { type: 'string', format: 'binary' } as const;

/**
 * A route that returns an export. An export contains the filter's seed, which lets anyone construct items that collide.
 */
export function ExportRoute({ summary, codes }: TransferDoc): MethodDecorator {
  return applyDecorators(
    ApiProduces(EXPORT_TYPES[0]),
    ApiOkResponse({
      schema: BINARY,
      description:
        'The export file, in the format of docs/export-format.md. It is complete if it has an end frame. ' +
        'On failure, the service closes the connection',
    }),
    Documented(
      { access: 'admin', summary, codes: ['STORE_DATA_LOST', 'FILTER_BUSY', ...codes] },
      { exports: true },
    ),
  );
}

/** A route that accepts an export. */
export function ImportRoute({
  summary,
  codes,
  answer,
}: TransferDoc & { answer: Type<object> }): MethodDecorator {
  const refusals = ['FILTER_EXISTS', 'FILTER_TOO_LARGE', 'QUOTA_EXCEEDED', 'STORE_FULL'] as const;
  return applyDecorators(
    ApiConsumes(...EXPORT_TYPES),
    ApiBody({ schema: BINARY }),
    ApiCreatedResponse({
      type: answer,
      description: 'Created. A repeat with the same Idempotency-Key gets the same answer',
    }),
    MutatingRoute({ access: 'admin', summary, codes: [...refusals, ...codes] }, { takesExports: true }),
  );
}
