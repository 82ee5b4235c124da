import { STATUS_CODES, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { toProblem } from '../errors/to-problem.js';
import { onEveryRequest } from './every-request.js';
import { nextRequestId } from './request-id.js';
import type { Headers } from './security-headers.js';

const newest = new WeakMap<Socket, ServerResponse>();

/** Remembers the newest answer of each connection, for `answerClientError`. */
export function rememberAnswers(server: Server): void {
  onEveryRequest(server, ({ socket }, response) => newest.set(socket, response));
}

/**
 * Whether bytes on the bare socket would be taken for a part of an answer that has begun, or for the answer to a request
 * that has come whole: it may have been executed, which an error would deny.
 */
function isAnswering(socket: Socket): boolean {
  const response = newest.get(socket);
  return (
    response !== undefined && !response.writableFinished && (response.headersSent || response.req.complete)
  );
}

/**
 * Answers what is no HTTP request (broken syntax, headers too large or too slow) on the bare socket: Fastify has no
 * request to reply to.
 */
export function answerClientError(error: Error & { code?: string }, socket: Socket, headers: Headers): void {
  if (error.code === 'ECONNRESET' || !socket.writable || isAnswering(socket)) {
    socket.destroy();
    return;
  }
  // The parser's own codes (HPE_…) all mean that the client's bytes are at fault.
  const fault = error.code?.startsWith('HPE_') || error.code?.startsWith('ERR_HTTP_');
  const problem = toProblem(Object.assign(error, fault && { statusCode: 400 }));
  const requestId = nextRequestId();
  const body = JSON.stringify(problem.body(requestId));
  const head = [
    `HTTP/1.1 ${problem.httpStatus} ${STATUS_CODES[problem.httpStatus]}`,
    'content-type: application/problem+json',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${requestId}`,
    'connection: close',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}
