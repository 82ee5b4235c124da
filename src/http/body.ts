import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import type { FastifyContextConfig, FastifyInstance } from 'fastify';
import type { Config } from '../config/config.js';
import { ProblemError } from '../errors/problem.js';
import { PORTION, turn } from '../event-loop/turn.js';
import { encodingFault } from '../request/announced-body.js';
import { contextOf } from '../request/context.js';
import type { Permit } from '../request/permit.js';
import type { Request } from '../request/request.js';
import { discard } from './discard.js';
import { parseJson, readWhole } from './json-body.js';
import { StreamedBody } from './streamed-body.js';
import { utf8ErrorAt } from './utf8-error.js';

/** A kind of streamed body, and the routes that accept it. */
export interface StreamedKind {
  readonly mediaTypes: readonly string[];
  readonly isTakenBy: (route: FastifyContextConfig) => boolean;
  readonly open: (payload: IncomingMessage, mediaType: string, permit: Permit | undefined) => StreamedBody;
}

export interface BodyReaders {
  readonly streamed: readonly StreamedKind[];
  /** Packs a JSON body of items without parsing it. Undefined if the body must be parsed. */
  readonly packed: (raw: Buffer, parse: () => Promise<unknown>) => object | undefined;
}

/** Media types for an export file, whose header says which kind it is. */
export const EXPORT_TYPES = ['application/vnd.unseen.filter', 'application/octet-stream'] as const;

const EXPORTS: StreamedKind = {
  mediaTypes: EXPORT_TYPES,
  isTakenBy: ({ takesExports = false }) => takesExports,
  open: (payload, _, permit) => new StreamedBody(payload, permit),
};

/**
 * Replaces Fastify's parsers. Reads a JSON body completely, and keeps its bytes for the fingerprint. Passes on a
 * streamed body unread.
 */
export function useBodyParsers(
  server: FastifyInstance,
  config: Pick<Config, 'maxBatchItems' | 'maxBodyBytes' | 'requestTimeoutMs'>,
  { streamed, packed }: BodyReaders,
): void {
  server.removeAllContentTypeParsers();
  const { maxBodyBytes: maxBytes, requestTimeoutMs: timeoutMs } = config;
  const mostParts = PARTS_AN_ITEM * config.maxBatchItems + OTHER_PARTS;
  server.addContentTypeParser('application/json', async (request: Request, payload: IncomingMessage) => {
    const fault = encodingFault(request);
    if (fault !== undefined) throw unsupported(payload, fault);
    const context = contextOf(request.raw);
    const raw = await readWhole(payload, { maxBytes, timeoutMs, permit: context.permit });
    context.rawBody = raw;
    if (raw.length === 0) return undefined;
    if (raw.length > PORTION && turn.isSpent()) await turn.next();
    if (!isUtf8(raw)) throw notUtf8(raw);
    const ofItems = request.routeOptions.config.batch?.entries === 'items';
    const body = ofItems ? packed(raw, () => parseJson(raw, mostParts)) : undefined;
    return body ?? parseJson(raw, mostParts);
  });
  const kinds = [...streamed, EXPORTS];
  for (const kind of kinds) {
    for (const mediaType of kind.mediaTypes) {
      server.addContentTypeParser(mediaType, async (request: Request, payload: IncomingMessage) => {
        const fault = encodingFault(request);
        if (fault !== undefined) throw unsupported(payload, fault);
        const { config: route } = request.routeOptions;
        if (kind.isTakenBy(route)) return kind.open(payload, mediaType, contextOf(request.raw).permit);
        const other = kinds
          .filter(({ isTakenBy }) => isTakenBy(route))
          .flatMap(({ mediaTypes }) => mediaTypes);
        const taken = route.takesExports ? other : ['application/json', ...other];
        throw unsupported(payload, `this route accepts ${taken.join(', ')}, not ${mediaType}`);
      });
    }
  }
}

/** Leaves headroom above the item limits, so that a slightly oversized batch gets an error that states the limit. */
const PARTS_AN_ITEM = 4;
const OTHER_PARTS = 1_000;

function unsupported(payload: IncomingMessage, detail: string): ProblemError {
  discard(payload);
  return new ProblemError('UNSUPPORTED_MEDIA_TYPE', detail);
}

function notUtf8(raw: Buffer): ProblemError {
  return new ProblemError('VALIDATION_FAILED', `the body is not valid UTF-8 at byte ${utf8ErrorAt(raw)}`);
}
