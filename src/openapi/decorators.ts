import { applyDecorators, type Type } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyContextConfig } from 'fastify';
import { ApiBody, ApiExtension, ApiHeader, ApiOkResponse, ApiOperation, ApiQuery } from '@nestjs/swagger';
import type { Access } from '../request/scope.js';
import type { ErrorCode } from '../errors/error-codes.js';
import type { BatchConfig, BatchMethod, Request } from '../request/request.js';
import { BATCH_OPTIONS } from './batch-options.js';

/** Extensions that operations.ts reads and removes. */
export const X_CODES = 'x-unseen-codes';
export const X_STREAMS = 'x-unseen-streams';
export const X_ACCESS = 'x-unseen-access';

interface RouteDoc {
  readonly access: Access;
  /** The route shows or changes more than one filter, so credentials with a name prefix may not use it. */
  readonly allNames?: true;
  readonly summary: string;
  readonly description?: string;
  /** Errors besides those of every route. */
  readonly codes?: readonly ErrorCode[];
}

/** Documents an API route: its callers, its effect and its errors. */
export function Documented(doc: RouteDoc, kind: RouteKind = {}): MethodDecorator {
  return route(doc, kind);
}

/** The route properties that the server needs before the handler runs. */
type RouteKind = Pick<
  FastifyContextConfig,
  'mutates' | 'waits' | 'batch' | 'direct' | 'takesExports' | 'exports' | 'probe'
>;

/** The only place that sets a route's configuration, because a second RouteConfig would replace the first. */
function route(doc: RouteDoc, config: RouteKind): MethodDecorator {
  const { access, allNames = false, summary, description, codes = [] } = doc;
  return applyDecorators(
    RouteConfig({ ...config, access, allNames }),
    ApiOperation({ summary, ...(description !== undefined && { description }) }),
    ApiExtension(X_CODES, codes),
    ApiExtension(X_ACCESS, access),
  );
}

const IDEMPOTENCY_KEY = ApiHeader({
  name: 'Idempotency-Key',
  required: false,
  description:
    '1 to 255 visible ASCII characters. A repeat with the same key gets the same answer and ' +
    'changes nothing. If absent, the service generates one. Every response returns it, including errors.',
  schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[!-~]+$' },
});

const MUTATION_CODES: readonly ErrorCode[] = [
  'IDEMPOTENCY_KEY_REUSED',
  'IDEMPOTENCY_KEY_EXPIRED',
  'FILTER_BUSY',
];

/** A route that changes data. `kind` has its other special properties. */
export function MutatingRoute(doc: RouteDoc, kind: Omit<RouteKind, 'mutates'> = {}): MethodDecorator {
  const codes = [...MUTATION_CODES, ...(doc.codes ?? [])];
  return applyDecorators(IDEMPOTENCY_KEY, route({ ...doc, codes }, { mutates: true, ...kind }));
}

interface BatchDoc extends RouteDoc, BatchConfig {
  readonly mutates: boolean;
  readonly body: Type<object>;
  readonly answer: Type<object>;
}

type MethodOfBatch = (name: string, request: Request) => Promise<object>;

/** A BatchRoute whose JSON batches skip Nest's pipeline (see batches/direct-batches.ts). */
export function DirectBatchRoute(given: BatchDoc) {
  return (controller: object, name: string, method: TypedPropertyDescriptor<MethodOfBatch>): void => {
    const direct = { controller: controller.constructor as BatchMethod['controller'], name };
    BatchRoute(given, { direct })(controller, name, method);
  };
}

/** A route that accepts a batch as JSON or as a stream of lines. */
export function BatchRoute(given: BatchDoc, kind: Pick<RouteKind, 'direct'> = {}): MethodDecorator {
  const { verb, entries, options = [], mutates, body, answer, ...doc } = given;
  const batch = { ...kind, batch: { verb, entries, options } };
  const codes: readonly ErrorCode[] = ['STORE_DATA_LOST', 'FILTER_BUSY', ...(doc.codes ?? [])];
  return applyDecorators(
    ApiBody({ type: body }),
    ApiOkResponse({ type: answer, description: 'One result per item, in order' }),
    ApiQuery({
      name: 'results',
      required: false,
      enum: ['none'],
      description:
        'For streams: `none` returns only the last line. Use it in clients that send the whole ' +
        'body before they read',
    }),
    ...options.map((name) =>
      ApiQuery({
        name,
        required: false,
        schema: BATCH_OPTIONS[name],
        description: `Same as \`${name}\` in a JSON body`,
      }),
    ),
    ApiExtension(X_STREAMS, true),
    mutates ? MutatingRoute({ ...doc, codes }, batch) : route({ ...doc, codes }, batch),
  );
}

const EXPLAIN =
  'Shows where an answer comes from. It reads the counters and changes nothing. During a ' +
  'sync, it reads only the layers that existed before the sync. It needs the scope `admin` because it ' +
  'shows where items are stored.';

/** A route that explains the results for a few entries. */
export function ExplainRoute(doc: Omit<RouteDoc, 'access'>): MethodDecorator {
  const { description = '', codes = [] } = doc;
  const all: readonly ErrorCode[] = ['STORE_DATA_LOST', 'FILTER_BUSY', ...codes];
  return route({ ...doc, access: 'admin', description: `${description} ${EXPLAIN}`.trim(), codes: all }, {});
}

/** A route that shows a filter's counter values. */
export function CountersRoute(missing: ErrorCode): MethodDecorator {
  return route(
    {
      access: 'read',
      summary: 'Count how many counters in a sample have each value',
      description:
        'Reads at most 256 pages, drawn at random for each call, or all pages of a small filter. ' +
        'During a sync, it reads only the layers that existed before the sync.',
      codes: [missing, 'STORE_DATA_LOST', 'FILTER_BUSY'],
    },
    {},
  );
}
