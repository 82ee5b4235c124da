import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Operation } from '#store';
import { ProblemError } from '../errors/problem.js';
import { contextOf } from '../request/context.js';
import { announcedBody, routePattern, type Request } from '../request/request.js';
import { makeId, readMadeId } from './made-id.js';

const VISIBLE_ASCII = /^[!-~]{1,255}$/;

/**
 * The operation of one request (guarantee G5), from its `Idempotency-Key` or an id made for it.
 *
 * The fingerprint tells a repeat from a reuse of the key for something else. Under a caller's key, which may come back
 * for a day, it is a cryptographic digest. Under a made id it is a CRC-32: it is computed for every request, repeated or
 * not, and only has to notice a mistake of the one client that was given the id.
 */
export class RequestOperation {
  private constructor(
    readonly id: string,
    private readonly identity: Pick<Operation, 'origin' | 'repeat' | 'madeAt'>,
    private readonly route: string,
    private readonly wholeFingerprint: string,
    private readonly timeoutMs: number,
  ) {}

  /** Throws VALIDATION_FAILED for a malformed key, IDEMPOTENCY_KEY_REUSED for a made id of another request. */
  static of(request: Request): RequestOperation {
    const context = contextOf(request.raw);
    const operation = RequestOperation.read(request, context.rawBody ?? '', request.server.requestTimeoutMs);
    context.operationId = operation.id;
    return operation;
  }

  private static read(request: Request, body: string | Buffer, timeoutMs: number): RequestOperation {
    const key = request.headers['idempotency-key'];
    const route = routeOf(request);
    if (key === undefined) return RequestOperation.make(route, body, timeoutMs);
    if (typeof key !== 'string' || !VISIBLE_ASCII.test(key)) {
      throw new ProblemError(
        'VALIDATION_FAILED',
        'Idempotency-Key must be 1 to 255 visible ASCII characters',
      );
    }
    const made = readMadeId(key);
    if (made === undefined || made.fingerprint === unreadChecksumOf(route)) {
      const identity = { origin: 'caller', repeat: true } as const;
      return new RequestOperation(key, identity, route, digest(route, body), timeoutMs);
    }
    const checksum = checksumOf(route, body);
    if (checksum !== made.fingerprint) {
      throw new ProblemError('IDEMPOTENCY_KEY_REUSED', 'this operation id was made for another request');
    }
    const identity = { origin: 'made', repeat: true, madeAt: made.madeAt } as const;
    return new RequestOperation(key, identity, route, hex(checksum), timeoutMs);
  }

  private static make(route: string, body: string | Buffer, timeoutMs: number): RequestOperation {
    const checksum = checksumOf(route, body);
    const madeAt = Date.now();
    const identity = { origin: 'made', repeat: false, madeAt } as const;
    return new RequestOperation(makeId(checksum, madeAt), identity, route, hex(checksum), timeoutMs);
  }

  whole(): Operation {
    return this.operation(this.id, this.wholeFingerprint);
  }

  /**
   * The first block has the id itself, so that a stream under the key of a JSON body, or the other way round, is a reuse.
   * No caller's key has a space in it, so that no later block can be taken for a request of its own.
   */
  block(firstLine: number, items: readonly string[]): Operation {
    const text = textOf(items);
    const caller = this.identity.origin === 'caller';
    const fingerprint = caller ? digest(this.route, text) : hex(checksumOf(this.route, text));
    return this.operation(firstLine === 1 ? this.id : `${this.id} #${firstLine}`, fingerprint);
  }

  private operation(id: string, fingerprint: string): Operation {
    return { id, fingerprint, ...this.identity, deadline: Date.now() + this.timeoutMs };
  }
}

/** The id under which a request may be sent again; undefined if it has none, and for a key that is not valid. */
export function operationIdOf(request: Request): string | undefined {
  const { operationId, rawBody } = contextOf(request.raw);
  if (operationId !== undefined) return operationId;
  const key = request.headers['idempotency-key'];
  if (typeof key === 'string') return VISIBLE_ASCII.test(key) ? key : undefined;
  const route = routeOf(request);
  const isUnread = rawBody === undefined && announcedBody(request) === 'json';
  return makeId(isUnread ? unreadChecksumOf(route) : checksumOf(route, rawBody ?? ''), Date.now());
}

/**
 * In the place of a JSON body's checksum, in the id of a request that was refused before its body was read. Nothing has
 * been done under such an id, and it says of no body that it is its own: so it is taken as a caller's key.
 */
function unreadChecksumOf(route: string): number {
  return checksumOf(route, 'unread');
}

/** Method, pattern and name: one spelling for every escaping of the path, and without the query. */
function routeOf(request: Request): string {
  const { name } = request.params as { name?: string };
  return `${request.method} ${routePattern(request)} ${name ?? ''}\n`;
}

/** Another text for other items. Not JSON: that writes some characters in six, and blocks may hold megabytes of them. */
function textOf(items: readonly string[]): string {
  return `${items.map(({ length }) => length).join()}\n${items.join('')}`;
}

function checksumOf(route: string, body: string | Buffer): number {
  return crc32(body, crc32(route));
}

function hex(checksum: number): string {
  return checksum.toString(16).padStart(8, '0');
}

function digest(route: string, body: string | Buffer): string {
  return createHash('sha256').update(route).update(body).digest('hex').slice(0, 32);
}
