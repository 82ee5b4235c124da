import type { IncomingMessage } from 'node:http';
import type { FastifyContextConfig } from 'fastify';
import { announcedBody } from '../request/request.js';
import type { RequestKind } from './bounds.js';

/** What a request asks for, as far as its head and its route say. */
export interface RequestClass {
  readonly kind: RequestKind;
  /** Of a JSON body, as announced. */
  readonly bytes: number;
}

/**
 * A body that is not JSON is a stream where the route takes any, read in blocks, and counted by what of it is held at a
 * time; so is an export, the other way round. A JSON body above `maxBodyBytes` is refused unread.
 */
export function classify(
  request: Pick<IncomingMessage, 'headers'>,
  { probe, exports, batch, takesExports }: FastifyContextConfig,
  maxBodyBytes: number,
): RequestClass {
  if (probe) return { kind: 'probes', bytes: 0 };
  if (exports) return { kind: 'streams', bytes: 0 };
  const body = announcedBody(request);
  if (body === 'other') return { kind: batch || takesExports ? 'streams' : 'requests', bytes: 0 };
  const bytes = body === 'json' ? Number(request.headers['content-length'] ?? 0) : 0;
  return { kind: 'requests', bytes: bytes > maxBodyBytes ? 0 : bytes };
}
