import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { toProblem } from '../errors/to-problem.js';
import { nextRequestId } from './request-id.js';

/**
 * Answers what is no HTTP request (broken syntax, headers too large or too slow) on the bare socket: Fastify has no
 * request to reply to.
 */
export function answerClientError(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
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
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}
