import type { OpenAPIObject } from '@nestjs/swagger';
import { catalogued, ERROR_CODES, type ErrorCode } from '../errors/catalogue.js';
import { X_CODES, X_STREAMS } from './decorators.js';

type Paths = OpenAPIObject['paths'];
type PathItem = Paths[string];
type OperationObject = NonNullable<PathItem['get']>;
type ResponseObject = Exclude<OperationObject['responses'][string], undefined | { $ref: string }>;
type SchemaObject = Exclude<
  NonNullable<NonNullable<OpenAPIObject['components']>['schemas']>[string],
  { $ref: string }
>;

/** Errors that any route may answer. */
const EVERYWHERE: readonly ErrorCode[] = [
  'VALIDATION_FAILED',
  'FORBIDDEN',
  'INTERNAL_ERROR',
  'STORE_UNAVAILABLE',
  'OVERLOADED',
];
/** Errors that probes may answer. */
const PROBE: readonly ErrorCode[] = ['FORBIDDEN'];
/** Errors of any route that takes a body. */
const WITH_BODY: readonly ErrorCode[] = ['REQUEST_TIMEOUT', 'BODY_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'];
const METHODS = ['get', 'post', 'delete'] as const;
const PROBES: readonly string[] = ['/healthz', '/readyz', '/metrics'];

const PROBLEM: SchemaObject = {
  type: 'object',
  description: 'RFC 9457',
  required: ['type', 'title', 'status', 'code', 'detail', 'requestId'],
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    code: { type: 'string', enum: [...ERROR_CODES], description: 'Stable' },
    detail: { type: 'string' },
    requestId: { type: 'string' },
    errors: {
      type: 'array',
      items: {
        type: 'object',
        required: ['pointer', 'detail'],
        properties: { pointer: { type: 'string' }, detail: { type: 'string' } },
      },
    },
    line: { type: 'integer', minimum: 1, description: 'Of a stream: the line at fault' },
  },
};

/** Adds what decorators cannot say: error answers by code, and the stream forms of batch routes. */
export function completeOperations(document: OpenAPIObject): OpenAPIObject {
  const schemas = { ...document.components?.schemas, Problem: PROBLEM };
  const paths = Object.entries(document.paths).map(([path, item]) => [path, completeItem(path, item)]);
  return {
    ...document,
    components: { ...document.components, schemas },
    paths: Object.fromEntries(paths) as Paths,
  };
}

function completeItem(path: string, item: PathItem): PathItem {
  const completed = METHODS.flatMap((method) => {
    const operation = item[method];
    return operation ? [[method, complete(path, operation)] as const] : [];
  });
  return { ...item, ...Object.fromEntries(completed) };
}

/** What Documented and BatchRoute left on an operation. */
interface Marks {
  readonly [X_CODES]?: readonly ErrorCode[];
  readonly [X_STREAMS]?: boolean;
}

function complete(path: string, marked: OperationObject & Marks): OperationObject {
  const { [X_CODES]: own = [], [X_STREAMS]: streams = false, ...operation } = marked;
  if (streams) addStreams(operation);
  const withBody = operation.requestBody === undefined ? [] : WITH_BODY;
  const everywhere = PROBES.includes(path) ? PROBE : EVERYWHERE;
  addProblems(operation, new Set([...everywhere, ...withBody, ...own]));
  return operation;
}

function addProblems(operation: OperationObject, codes: ReadonlySet<ErrorCode>): void {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of codes) {
    const { status } = catalogued(code);
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  for (const [status, sharing] of byStatus) {
    operation.responses[String(status)] = {
      description: sharing.map((code) => `\`${code}\`: ${catalogued(code).title}`).join('. '),
      content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
    };
  }
}

function addStreams(operation: OperationObject): void {
  if (operation.requestBody && 'content' in operation.requestBody) {
    const { content } = operation.requestBody;
    content['application/x-ndjson'] = { schema: { type: 'string', description: 'A JSON string a line' } };
    content['text/plain'] = {
      schema: { type: 'string', description: 'A line an item, LF or CRLF; empty lines are skipped' },
    };
  }
  const ok = operation.responses['200'] as ResponseObject;
  ok.content = {
    ...ok.content,
    'application/x-ndjson': { schema: { type: 'string', description: STREAM_ANSWER } },
  };
}

const STREAM_ANSWER =
  'To a stream. Per 1,000 input lines `{"from", "results", "invalid"?}`, `from` being the number of their first line, from 1. ' +
  'Last `{"done": true, "counts"}` or `{"error": problem, "line"}`; the lines before that one keep their answers.';
