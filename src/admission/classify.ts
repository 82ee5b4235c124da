import type { IncomingMessage } from 'node:http';
import type { FastifyContextConfig } from 'fastify';
import type { RequestKind } from './bounds.js';

/** What a request asks for, as far as its head and its route say. */
export interface RequestClass {
  readonly kind: RequestKind;
  /** Of a JSON body, as announced. */
  readonly bytes: number;
}

const JSON_TYPE = /^\s*application\/json\s*(;|$)/i;

/**
 * A body that is not JSON is a stream where the route takes any, read in blocks, and counted by what of it is held at a
 * time; so is an export, the other way round. A JSON body above `maxBodyBytes` is refused unread.
 */
export function classify(
  { headers }: IncomingMessage,
  { probe, exports, batch, takesExports }: FastifyContextConfig,
  maxBodyBytes: number,
): RequestClass {
  if (probe) return { kind: 'probes', bytes: 0 };
  if (exports) return { kind: 'streams', bytes: 0 };
  const announced = headers['content-length'];
  if (announced === '0' || (announced === undefined && headers['transfer-encoding'] === undefined)) {
    return { kind: 'requests', bytes: 0 };
  }
  if (!JSON_TYPE.test(headers['content-type'] ?? '')) {
    return { kind: batch || takesExports ? 'streams' : 'requests', bytes: 0 };
  }
  const bytes = Number(announced ?? 0);
  return { kind: 'requests', bytes: bytes > maxBodyBytes ? 0 : bytes };
}
