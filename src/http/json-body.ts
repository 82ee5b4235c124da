import { isAscii } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { ProblemError } from '../errors/problem.js';
import { PORTION, turn } from '../event-loop/turn.js';
import type { Permit } from '../request/permit.js';
import { discard } from './discard.js';
import { jsonErrorAt } from './json-error.js';
import { hasTooManyParts } from './json-parts.js';

export interface WholeBodyOptions {
  readonly maxBytes: number;
  readonly timeoutMs: number;
  /** The permit that counts the bytes as they arrive. */
  readonly permit: Permit | undefined;
}

/**
 * How long a request keeps its place while it waits for its body. Bodies usually arrive within milliseconds after their
 * heads.
 */
const PROMPT_MS = 250;

/**
 * Reads a whole body. Throws ProblemError: BODY_TOO_LARGE, REQUEST_TIMEOUT, OVERLOADED. Fastify's own reader has no
 * timeout, and Node's timeout would also cut off long streams.
 */
export async function readWhole(payload: IncomingMessage, options: WholeBodyOptions): Promise<Buffer> {
  const isThere = payload.complete && !payload.destroyed && payload.readableLength <= options.maxBytes;
  if (isThere) return readArrived(payload, options);
  const chunks = await readArriving(payload, options);
  if (chunks.length === 1) return chunks[0] as Buffer;
  // Joining the chunks may take long, so ask the budget first.
  if (turn.isSpent()) await turn.next();
  return Buffer.concat(chunks);
}

const NO_BYTES = Buffer.alloc(0);

/**
 * A small body usually arrives with its head, and needs no timers or listeners, which would cost more than reading it.
 */
function readArrived(payload: IncomingMessage, { permit }: WholeBodyOptions): Buffer {
  const body = (payload.read() as Buffer | null) ?? NO_BYTES;
  const problem = permit?.cover(body.length);
  if (problem) throw problem;
  return body;
}

function readArriving(payload: IncomingMessage, options: WholeBodyOptions): Promise<Buffer[]> {
  const { maxBytes, timeoutMs, permit } = options;
  return new Promise((resolve, reject) => {
    let chunks: Buffer[] = [];
    let bytes = 0;
    let parked = false;
    let settled = false;
    const settle = (problem?: ProblemError): void => {
      settled = true;
      clearTimeout(timer);
      if (problem) {
        discard(payload);
        reject(problem);
      } else resolve(chunks);
      // The listeners live as long as the request, and must not keep the chunks in memory.
      chunks = [];
    };
    const late = (): void =>
      settle(tooLate(`the body did not arrive within ${timeoutMs} ms; send it faster, or send less at once`));
    let timer =
      timeoutMs <= PROMPT_MS
        ? setTimeout(late, timeoutMs)
        : setTimeout(() => {
            permit?.park();
            parked = true;
            timer = setTimeout(late, timeoutMs - PROMPT_MS);
          }, PROMPT_MS);
    // An aborted request emits an error before it closes. Its client has left, and gets no answer.
    payload.on('error', () => undefined);
    if (Number(payload.headers['content-length']) > maxBytes) settle(tooLarge(maxBytes));
    // The client disconnected while the request waited for other work, so no more events will come.
    else if (payload.destroyed) settle(cutOff());
    else {
      payload.on('data', (chunk: Buffer) => {
        if (settled) return;
        bytes += chunk.length;
        const problem = bytes > maxBytes ? tooLarge(maxBytes) : permit?.cover(bytes);
        if (problem) settle(problem);
        else chunks.push(chunk);
      });
      payload.once('end', () => {
        if (!settled) settle(parked ? permit?.unpark() : undefined);
      });
      payload.once('close', () => {
        if (!settled) settle(cutOff());
      });
    }
  });
}

function tooLarge(limit: number): ProblemError {
  return new ProblemError(
    'BODY_TOO_LARGE',
    `a JSON body may have at most ${limit} bytes; split it, or send a stream`,
  );
}

function cutOff(): ProblemError {
  return tooLate('the client closed the connection before the end of the body');
}

function tooLate(detail: string): ProblemError {
  return new ProblemError('REQUEST_TIMEOUT', detail);
}

/**
 * Parses a JSON text in valid UTF-8. Throws VALIDATION_FAILED if it is invalid or has more than `mostParts` parts. A
 * step on the whole text can't be interrupted, but each step may run in a different turn.
 */
export async function parseJson(raw: Buffer, mostParts: number): Promise<unknown> {
  const large = raw.length > PORTION;
  if (large) {
    if (turn.isSpent()) await turn.next();
    if (hasTooManyParts(raw, mostParts)) {
      throw new ProblemError(
        'VALIDATION_FAILED',
        `the body has more than ${mostParts} arrays, objects, members and elements in total`,
      );
    }
    if (turn.isSpent()) await turn.next();
  }
  const text = raw.toString(isAscii(raw) ? 'latin1' : 'utf8');
  if (large && turn.isSpent()) await turn.next();
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    const at = await errorAt(text);
    throw new ProblemError('VALIDATION_FAILED', `the body is not valid JSON at character ${at}`);
  }
  if (large && turn.isSpent()) await turn.next();
  return value;
}

/** The position of the first error in a JSON text. */
async function errorAt(text: string): Promise<number> {
  const search = jsonErrorAt(text);
  for (;;) {
    if (turn.isSpent()) await turn.next();
    const { done, value } = search.next();
    if (done) return value;
  }
}
