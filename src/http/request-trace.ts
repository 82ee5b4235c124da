import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Trace } from '../tracing/trace.js';
import type { Tracing } from '../tracing/tracing.js';

/** A request as its span names it. Its URL stays out, because it may name items and hosts. */
export interface TracedRequest {
  readonly request: Pick<IncomingMessage, 'method' | 'headers'>;
  readonly response: Pick<ServerResponse, 'statusCode' | 'headersSent'>;
  /** The route's pattern. Undefined for an unknown path. */
  readonly route: string | undefined;
  /** When its head arrived, in monotonic ms. */
  readonly arrived: number;
}

/** The methods that OpenTelemetry's conventions know. They call the others `_OTHER`, in a span `HTTP`. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH', 'QUERY'];

const CLIENT_LEFT = { code: 'client_left', httpStatus: 0 };

/** Begins a request's trace, which ends with its exchange. */
export function beginTrace(
  tracing: Tracing,
  { request, response, route, arrived }: TracedRequest,
  ends: ((answered: boolean) => void)[],
): Trace {
  const { method = '' } = request;
  const isKnown = METHODS.includes(method);
  const verb = isKnown ? method : 'HTTP';
  const trace = tracing.begin(route === undefined ? verb : `${verb} ${route}`, arrived, request.headers);
  if (!trace.isSampled) return trace;
  ends.push((answered) => {
    if (!answered) trace.fail(CLIENT_LEFT);
    const { headersSent, statusCode } = response;
    trace.end({
      'http.request.method': isKnown ? method : '_OTHER',
      ...(!isKnown && { 'http.request.method_original': method }),
      ...(route !== undefined && { 'http.route': route }),
      ...(headersSent && { 'http.response.status_code': statusCode }),
    });
  });
  return trace;
}
