import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { deadlineIn, type Operation } from '#store';
import { ProblemError } from '../errors/problem.js';
import { show } from '../errors/show.js';
import { announcedBody } from '../request/announced-body.js';
import { contextOf } from '../request/context.js';
import type { Request } from '../request/request.js';
import { makeId, readMadeId } from './made-id.js';

/** A discovery with two texts. */
interface UrlWithPayload {
  readonly url: string;
  readonly payload: string;
}

const VISIBLE_ASCII = /^[!-~]{1,255}$/;

/**
 * A request's operation (guarantee G5), from its `Idempotency-Key` or a generated id. Throws VALIDATION_FAILED for a
 * malformed key, and IDEMPOTENCY_KEY_REUSED for an id that was generated for another request.
 *
 * The fingerprint tells a repeat from a reuse of the key for another request. With a caller's key, which may be
 * repeated for a day, it is a cryptographic digest. With a generated id, it is a CRC-32: it is computed for every
 * request, and only has to detect mistakes by the one client that got the id.
 */
export function operationOf(request: Request): Operation {
  const context = contextOf(request.raw);
  const body = bodyOf(request);
  const route = routeOf(request);
  const key = request.headers['idempotency-key'];
  const now = request.server.clock.now();
  const deadline = deadlineIn(request.server.requestTimeoutMs);
  const quota = context.principal?.quota;
  if (key !== undefined) {
    const operation = { ...operationWith(key, route, body), deadline, quota };
    context.operationId = operation.id;
    return operation;
  }
  const made = madeOperation(checksumOf(route, body), now);
  context.operationId = made.id;
  return { ...made, deadline, quota };
}

/** An operation with a generated id, for a request with this checksum. */
export function madeOperation(checksum: number, now: number): Omit<Operation, 'deadline' | 'quota'> {
  const id = makeId(checksum, now);
  return { id, origin: 'made', repeat: false, madeAt: now, fingerprint: checksum.toString(16) };
}

/** The operation for a request's id, which the caller has sent. `route` is from `routeText`. */
export function operationWith(
  key: string | string[],
  route: string,
  body: string | Buffer,
): Omit<Operation, 'deadline' | 'quota'> {
  if (typeof key !== 'string' || !VISIBLE_ASCII.test(key)) {
    throw new ProblemError(
      'VALIDATION_FAILED',
      `Idempotency-Key must be 1 to 255 visible ASCII characters, not ${show(key)}`,
    );
  }
  const made = readMadeId(key);
  if (made === undefined || made.fingerprint === unreadChecksumOf(route)) {
    return { id: key, origin: 'caller', repeat: true, fingerprint: digest(route, body) };
  }
  const checksum = checksumOf(route, body);
  if (checksum !== made.fingerprint) {
    throw new ProblemError(
      'IDEMPOTENCY_KEY_REUSED',
      `Idempotency-Key ${key} was already used for another request; nothing was changed. Send a new key`,
    );
  }
  return { id: key, origin: 'made', repeat: true, madeAt: made.madeAt, fingerprint: checksum.toString(16) };
}

/**
 * The part of a stream's operation for one block of lines. The first block has the id itself, so using one key for a
 * stream and a JSON body is a reuse. A caller's key never contains a space, so a later block's id never equals another
 * request's id.
 */
export function blockOperation(
  request: Request,
  operation: Operation,
  firstLine: number,
  items: readonly (string | UrlWithPayload)[],
): Operation {
  const { id, origin } = operation;
  const route = routeOf(request);
  const text = textOf(items);
  return {
    ...operation,
    id: firstLine === 1 ? id : `${id} #${firstLine}`,
    fingerprint: origin === 'caller' ? digest(route, text) : checksumOf(route, text).toString(16),
    deadline: deadlineIn(request.server.requestTimeoutMs),
  };
}

/**
 * Adds the operation's id to the answers of mutating routes, including errors, so that clients can repeat the request.
 * Call it before routes are registered.
 */
export function returnOperationIds(server: FastifyInstance): void {
  server.addHook('onRoute', (route) => {
    if (!route.config?.mutates) return;
    route.onSend = [
      ...[route.onSend ?? []].flat(),
      (request, reply, payload, done) => {
        const id = contextOf(request.raw).operationId ?? idOfRefused(request);
        if (id !== undefined) reply.header('idempotency-key', id);
        done(null, payload);
      },
    ];
  });
}

/** The id for repeating a request that was refused before it had an operation. Undefined for a malformed key. */
export function idOfRefused(request: Request): string | undefined {
  const key = request.headers['idempotency-key'];
  if (typeof key === 'string') return VISIBLE_ASCII.test(key) ? key : undefined;
  const { rawBody } = contextOf(request.raw);
  const route = routeOf(request);
  const isUnread = rawBody === undefined && announcedBody(request) === 'json';
  return makeId(
    isUnread ? unreadChecksumOf(route) : checksumOf(route, bodyOf(request)),
    request.server.clock.now(),
  );
}

/**
 * Stands in for the JSON body's checksum in the id of a request that was refused before its body was read. Nothing has
 * run under such an id, and it belongs to no body. So a repeat may use it like a caller's key.
 */
function unreadChecksumOf(route: string): number {
  return checksumOf(route, 'unread');
}

/**
 * Method, route pattern, name, and id or host. The text is the same for every escaping of the path, and includes only
 * those parts of the query that change the effect.
 */
function routeOf(request: Request): string {
  const { name = '', id, host: part = id } = request.params as { name?: string; id?: string; host?: string };
  const query = request.query as Readonly<Record<string, unknown>>;
  const { url = '', config } = request.routeOptions;
  let rest = part === undefined ? '' : ` ${part}`;
  for (const option of config.batch?.options ?? []) {
    const value = query[option];
    if (typeof value === 'string') rest += ` ${option}=${value}`;
  }
  return routeText(`${request.method} ${url}`, name, rest);
}

/** `route`: a method and a route pattern. */
export function routeText(route: string, name: string, rest = ''): string {
  return `${route} ${name}${rest}\n`;
}

/** On a route that waits, every valid body is shorter. */
const MAX_WAITING_BYTES = 1_024;

/**
 * The JSON body. On routes that wait, `waitSeconds` is left out, because a repeat may wait for a different time. A
 * large or deep body will be refused, so serialising it again would waste time.
 */
function bodyOf({ raw, body, routeOptions }: Request): string | Buffer {
  const { rawBody = '' } = contextOf(raw);
  const { waits = false } = routeOptions.config;
  if (!waits || rawBody.length > MAX_WAITING_BYTES || typeof body !== 'object' || body === null)
    return rawBody;
  return JSON.stringify({ ...body, waitSeconds: undefined });
}

/**
 * A text that is different for different items. In JSON, some characters would take six, and blocks may have megabytes
 * of them.
 */
function textOf(items: readonly (string | UrlWithPayload)[]): string {
  const texts: string[] = [];
  let lengths = '';
  for (const item of items) {
    if (typeof item === 'string') {
      lengths += `${item.length},`;
      texts.push(item);
    } else {
      lengths += `${item.url.length}+${item.payload.length},`;
      texts.push(item.url, item.payload);
    }
  }
  return `${lengths}\n${texts.join('')}`;
}

function checksumOf(route: string, body: string | Buffer): number {
  return crc32(body, crc32(route));
}

function digest(route: string, body: string | Buffer): string {
  return createHash('sha256').update(route).update(body).digest('hex').slice(0, 32);
}
