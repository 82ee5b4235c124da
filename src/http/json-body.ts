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
  /** Where the bytes are counted as they come. */
  readonly permit: Permit | undefined;
}

/** For how long a body is waited for with the request's place held: bodies come within milliseconds of their heads. */
const PROMPT_MS = 250;

/**
 * All bytes of a body. Throws ProblemError: BODY_TOO_LARGE, REQUEST_TIMEOUT, OVERLOADED. Fastify's own reader knows no
 * timeout, and Node's would cut long streams off as well.
 */
export async function readWhole(payload: IncomingMessage, options: WholeBodyOptions): Promise<Buffer> {
  const isThere = payload.complete && !payload.destroyed && payload.readableLength <= options.maxBytes;
  if (isThere) return readArrived(payload, options);
  const chunks = await readArriving(payload, options);
  if (chunks.length === 1) return chunks[0] as Buffer;
  // Joining takes long enough to count.
  if (turn.isSpent()) await turn.next();
  return Buffer.concat(chunks);
}

const NO_BYTES = Buffer.alloc(0);

/** A small body as a rule comes with its head: it takes neither timers nor listeners, which cost more than it does. */
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
      // The listeners stay as long as the request: they must not hold the body beside it.
      chunks = [];
    };
    const late = (): void => settle(tooLate(`the body did not arrive within ${timeoutMs} ms`));
    let timer =
      timeoutMs <= PROMPT_MS
        ? setTimeout(late, timeoutMs)
        : setTimeout(() => {
            permit?.park();
            parked = true;
            timer = setTimeout(late, timeoutMs - PROMPT_MS);
          }, PROMPT_MS);
    // An aborted request errs before it closes; who caused it is gone and gets no answer.
    payload.on('error', () => undefined);
    if (Number(payload.headers['content-length']) > maxBytes) settle(tooLarge(maxBytes));
    // Its client left while someone else was waited for: nothing more will happen to it.
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
 * The value of a JSON text, in valid UTF-8. VALIDATION_FAILED if it is none, or has more than `mostParts`. A step that
 * works on the whole text cannot be cut, but the steps need not be in one turn.
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

/** Where the text stops being JSON. */
async function errorAt(text: string): Promise<number> {
  const search = jsonErrorAt(text);
  for (;;) {
    if (turn.isSpent()) await turn.next();
    const { done, value } = search.next();
    if (done) return value;
  }
}
