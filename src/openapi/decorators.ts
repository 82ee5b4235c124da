import { applyDecorators, type Type } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiBody, ApiExtension, ApiHeader, ApiOkResponse, ApiOperation, ApiQuery } from '@nestjs/swagger';
import type { ErrorCode } from '../errors/catalogue.js';

/** Read by document.ts and not shown. */
export const X_CODES = 'x-unseen-codes';
export const X_STREAMS = 'x-unseen-streams';

interface RouteDoc {
  readonly summary: string;
  readonly description?: string;
  /** Errors beyond those that every route may answer. */
  readonly codes?: readonly ErrorCode[];
}

/** Every route of the API: what it does and how it fails. */
export function Documented({ summary, description, codes = [] }: RouteDoc): MethodDecorator {
  return applyDecorators(
    ApiOperation({ summary, ...(description !== undefined && { description }) }),
    ApiExtension(X_CODES, codes),
  );
}

const IDEMPOTENCY_KEY = ApiHeader({
  name: 'Idempotency-Key',
  required: false,
  description:
    '1 to 255 visible ASCII characters. A repeat with the same key answers the same and changes nothing. Without it ' +
    'the service makes one; either way it is in the answer, on errors too.',
  schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[!-~]+$' },
});

const MUTATION_CODES: readonly ErrorCode[] = [
  'IDEMPOTENCY_KEY_REUSED',
  'IDEMPOTENCY_KEY_EXPIRED',
  'FILTER_BUSY',
];

/** A route that changes something. */
export function MutatingRoute(doc: RouteDoc): MethodDecorator {
  return applyDecorators(
    RouteConfig({ mutates: true }),
    IDEMPOTENCY_KEY,
    Documented({ ...doc, codes: [...MUTATION_CODES, ...(doc.codes ?? [])] }),
  );
}

interface BatchDoc extends RouteDoc {
  readonly mutates: boolean;
  readonly body: Type<object>;
  readonly answer: Type<object>;
}

/** A route that takes a batch as JSON or as a stream of lines. */
export function BatchRoute({ mutates, body, answer, ...doc }: BatchDoc): MethodDecorator {
  const codes: readonly ErrorCode[] = ['STORE_DATA_LOST', 'FILTER_BUSY', ...(doc.codes ?? [])];
  return applyDecorators(
    ApiBody({ type: body }),
    ApiOkResponse({ type: answer, description: 'One result per item, in order' }),
    ApiQuery({
      name: 'results',
      required: false,
      enum: ['none'],
      description: 'Streams: answer the last line only, for clients that send everything before they read',
    }),
    ApiExtension(X_STREAMS, true),
    mutates ? MutatingRoute({ ...doc, codes }) : Documented({ ...doc, codes }),
    RouteConfig({ mutates, streams: true }),
  );
}
