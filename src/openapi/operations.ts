import type { OpenAPIObject } from '@nestjs/swagger';
import { errorEntry, ERROR_CODES, type ErrorCode } from '../errors/error-codes.js';
import type { Access } from '../request/scope.js';
import { EXAMPLES } from './examples.js';
import { X_ACCESS, X_CODES, X_STREAMS } from './decorators.js';

type Paths = OpenAPIObject['paths'];
type PathItem = Paths[string];
type OperationObject = NonNullable<PathItem['get']>;
type ResponseObject = Exclude<OperationObject['responses'][string], undefined | { $ref: string }>;
type SchemaObject = Exclude<
  NonNullable<NonNullable<OpenAPIObject['components']>['schemas']>[string],
  { $ref: string }
>;

/** Errors that every non-public route may return. */
const EVERYWHERE: readonly ErrorCode[] = [
  'VALIDATION_FAILED',
  'UNAUTHENTICATED',
  'FORBIDDEN',
  'RATE_LIMITED',
  'INTERNAL_ERROR',
  'STORE_UNAVAILABLE',
  'OVERLOADED',
];
/** Errors that public routes may return. */
const PUBLIC: readonly ErrorCode[] = ['FORBIDDEN'];
/** Errors for every method that may have a body, because the service always reads a body. */
const WITH_BODY: readonly ErrorCode[] = ['REQUEST_TIMEOUT', 'BODY_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'];
const METHODS = ['get', 'post', 'put', 'delete'] as const;
/** Name of the only security scheme. */
const CREDENTIALS = 'credentials';

const PROBLEM: SchemaObject = {
  type: 'object',
  description: 'RFC 9457',
  required: ['type', 'title', 'status', 'code', 'detail', 'requestId'],
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    code: { type: 'string', enum: [...ERROR_CODES], description: 'A stable code' },
    detail: { type: 'string' },
    requestId: { type: 'string' },
    traceId: { type: 'string', description: 'The id of the trace, if the service sends traces' },
    errors: {
      type: 'array',
      items: {
        type: 'object',
        required: ['pointer', 'detail'],
        properties: { pointer: { type: 'string' }, detail: { type: 'string' } },
      },
    },
    line: { type: 'integer', minimum: 1, description: 'For a stream: the number of the line that failed' },
  },
};

const SCHEME = {
  type: 'http',
  scheme: 'bearer',
  description:
    'An API key (`unseen_…`), or a token of the configured issuer. The service needs no credentials with AUTH=none, or with ' +
    'AUTH unset until the first key exists. The scope `write` includes `read`, and `admin` includes `write`.',
} as const;

/**
 * Adds what decorators can't express: a route's callers, its error answers by code, and the stream forms of batch
 * routes.
 */
export function completeOperations(document: OpenAPIObject): OpenAPIObject {
  const schemas = { ...document.components?.schemas, Problem: PROBLEM };
  const paths = Object.entries(document.paths).map(([path, item]) => [path, completeItem(item)]);
  return {
    ...document,
    components: { ...document.components, schemas, securitySchemes: { [CREDENTIALS]: SCHEME } },
    paths: Object.fromEntries(paths) as Paths,
  };
}

function completeItem(item: PathItem): PathItem {
  const completed = METHODS.flatMap((method) => {
    const operation = item[method];
    return operation ? [[method, complete(operation, method !== 'get')] as const] : [];
  });
  return { ...item, ...Object.fromEntries(completed) };
}

/** The extensions that route decorators add to an operation. */
interface Extensions {
  readonly [X_CODES]?: readonly ErrorCode[];
  readonly [X_STREAMS]?: boolean;
  readonly [X_ACCESS]?: Access;
}

function complete(extended: OperationObject & Extensions, readsBody: boolean): OperationObject {
  const { [X_CODES]: own = [], [X_STREAMS]: streams = false, [X_ACCESS]: access, ...operation } = extended;
  if (streams) addStreams(operation);
  const withBody = readsBody ? WITH_BODY : [];
  const isPublic = access === 'public';
  addProblems(operation, new Set([...(isPublic ? PUBLIC : EVERYWHERE), ...withBody, ...own]));
  operation.security = isPublic ? [] : [{ [CREDENTIALS]: [] }];
  if (!isPublic) addScope(operation, access);
  addExample(operation);
  return operation;
}

const JSON_TYPE = 'application/json';

function addExample(operation: OperationObject): void {
  const { request, response } = EXAMPLES[operation.operationId ?? ''] ?? {};
  const { requestBody, responses } = operation;
  if (request !== undefined && requestBody && 'content' in requestBody)
    setExample(requestBody.content[JSON_TYPE], request);
  for (const status of ['200', '201']) {
    const answer = responses[status];
    if (response !== undefined && answer && 'content' in answer)
      setExample(answer.content[JSON_TYPE], response);
  }
}

function setExample(body: { example?: unknown } | undefined, example: unknown): void {
  if (body) body.example = example;
}

function addScope(operation: OperationObject, scope: Access | undefined): void {
  const forbidden = operation.responses['403'] as ResponseObject;
  forbidden.description += `. The route needs the scope \`${scope}\``;
}

function addProblems(operation: OperationObject, codes: ReadonlySet<ErrorCode>): void {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of codes) {
    const { status } = errorEntry(code);
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  for (const [status, sharing] of byStatus) {
    operation.responses[String(status)] = {
      description: sharing.map((code) => `\`${code}\`: ${errorEntry(code).title}`).join('. '),
      content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
    };
  }
}

function addStreams(operation: OperationObject): void {
  if (operation.requestBody && 'content' in operation.requestBody) {
    const { content } = operation.requestBody;
    content['application/x-ndjson'] = {
      schema: { type: 'string', description: 'One JSON string per line. An empty line is an error' },
    };
    content['text/plain'] = {
      schema: {
        type: 'string',
        description:
          'One item per line, ended by LF or CRLF. The service skips empty lines, but counts them, ' +
          'and skips a byte order mark at the start',
      },
    };
  }
  const ok = operation.responses['200'] as ResponseObject;
  ok.content = {
    ...ok.content,
    'application/x-ndjson': { schema: { type: 'string', description: STREAM_ANSWER } },
  };
}

const STREAM_ANSWER =
  'The answer to a stream. One line per 1,000 input lines: `{"from", "results", "invalid"?}`. `from` is the number of ' +
  'the first of these lines, counted from 1 and including empty lines. `results` has one element per item, and none for an ' +
  'empty line. `index` in `invalid` is an index in `results`. Blocks of empty lines have no answer line. The last line is ' +
  '`{"done": true, "counts"}` or, after a failure, `{"error": problem, "line"}`. The answers before a failure remain valid.';
