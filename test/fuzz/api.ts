import { ERRORS, type ErrorCode } from '../../src/errors/error-codes.js';
import { faultsOf, type Schema, type Schemas } from './schema.js';
import type { WireAnswer } from './wire.js';

interface Content {
  readonly schema?: Schema;
}

export interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly schema?: Schema;
}

interface DocumentedOperation {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Content>> };
  readonly responses: Readonly<
    Record<string, { readonly description: string; readonly content?: Readonly<Record<string, Content>> }>
  >;
}

export interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>;
  readonly components: { readonly schemas: Schemas };
}

/** One method on one path in the API document. */
export interface Operation extends DocumentedOperation {
  readonly method: string;
  readonly path: string;
}

export function operationsOf(document: ApiDocument): Operation[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
  );
}

/** Codes that are also valid if the path belongs to another operation or to none. */
const ELSEWHERE: readonly ErrorCode[] = ['ROUTE_NOT_FOUND', 'METHOD_NOT_ALLOWED'];

/**
 * An answer's faults, according to the document: an undeclared status or code, an error that isn't in the catalogue, or
 * a body with another shape. Empty if it has none.
 */
export function judge(operation: Operation, answer: WireAnswer, { components }: ApiDocument): string[] {
  const { status, headers } = answer;
  const declared = operation.responses[String(status)];
  const mediaType = (headers.get('content-type') ?? '').split(';')[0] as string;
  const shown = `${status} ${mediaType}: ${answer.body.slice(0, 500)}`;
  if (status === 500) return [`a defect: ${shown}`];
  if (status >= 400 && mediaType === 'application/problem+json') {
    const { code, faults } = problemFaults(answer, components.schemas);
    const expected = declared?.description.includes(`\`${code}\``) ?? false;
    const undeclared = expected || ELSEWHERE.includes(code) ? [] : [`${code} is not declared: ${shown}`];
    return [...faults, ...undeclared];
  }
  if (!declared) return [`the status is not declared: ${shown}`];
  if (answer.body === '') return declared.content ? [`the body is missing: ${shown}`] : [];
  const content = declared.content?.[mediaType];
  // Probes and pages are declared without a media type.
  if (!content) return declared.content ? [`the media type is not declared: ${shown}`] : [];
  if (mediaType === 'application/x-ndjson') return lineFaults(answer.body, components.schemas);
  if (mediaType !== 'application/json') return [];
  return faultsOf(JSON.parse(answer.body), content.schema ?? {}, components.schemas);
}

/** How an error answer differs from a correct problem document. */
export function problemFaults(
  { status, headers, body }: WireAnswer,
  schemas: Schemas,
): { code: ErrorCode; faults: string[] } {
  const problem = JSON.parse(body) as { code: ErrorCode; status: number; requestId: string };
  const faults = faultsOf(problem, { $ref: '#/components/schemas/Problem' }, schemas);
  const entry = ERRORS[problem.code] as { status: number } | undefined;
  if (entry?.status !== status || problem.status !== status)
    faults.push(`the status is not that of the code: ${body}`);
  if (headers.get('content-type') !== 'application/problem+json')
    faults.push(`it is not a problem document: ${body}`);
  if (headers.get('x-request-id') !== problem.requestId) faults.push(`it has another request id: ${body}`);
  return { code: problem.code, faults };
}

/**
 * The faults in a stream's answer, which must have one JSON document per line, and say only in the last line how the
 * stream ended.
 */
function lineFaults(body: string, schemas: Schemas): string[] {
  const lines = body
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { done?: true; error?: { code: ErrorCode; status: number } });
  const ends = lines.map(({ done, error }) => done === true || error !== undefined);
  const faults =
    ends.indexOf(true) === lines.length - 1 ? [] : [`not the last line ends the stream: ${body}`];
  const { error } = lines.at(-1) ?? {};
  if (error === undefined) return faults;
  if (error.code === 'INTERNAL_ERROR') faults.push(`a defect: ${body}`);
  return [...faults, ...faultsOf(error, { $ref: '#/components/schemas/Problem' }, schemas)];
}
