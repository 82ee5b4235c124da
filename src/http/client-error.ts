import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { toProblem } from './to-problem.js';
import { connectionOf } from './connection.js';
import { linger } from './discard.js';
import { nextRequestId } from '../request/context.js';
import type { Headers } from './security-headers.js';

/**
 * Answers bytes that aren't a valid HTTP request: broken syntax, or headers that are too large or too slow. It writes
 * to the socket itself, because Fastify has no request to reply to. Earlier complete requests get their answers first:
 * they may have run, and an error instead would deny that.
 */
export function answerClientError(error: Error & { code?: string }, socket: Socket, headers: Headers): void {
  const answer = (): void => {
    socket.end(problemAnswer(error, headers));
    // The client may keep sending, or keep its side open.
    setTimeout(() => socket.destroy(), linger.ms).unref();
  };
  const isGone = error.code === 'ECONNRESET' || !socket.writable;
  if (isGone || !connectionOf(socket).endWith(answer)) socket.destroy();
}

function problemAnswer(error: Error & { code?: string }, headers: Headers): string {
  // All of the parser's own codes (HPE_…) mean that the client sent invalid bytes.
  const fault = error.code?.startsWith('HPE_') || error.code?.startsWith('ERR_HTTP_');
  const problem = toProblem(Object.assign(error, fault && { statusCode: 400 }));
  const requestId = nextRequestId();
  const body = JSON.stringify(problem.body({ requestId }));
  const head = [
    `HTTP/1.1 ${problem.httpStatus} ${STATUS_CODES[problem.httpStatus]}`,
    'content-type: application/problem+json',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${requestId}`,
    'connection: close',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}
