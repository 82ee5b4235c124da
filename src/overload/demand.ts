import type { IncomingMessage } from 'node:http';
import { isProbe } from '../http/probes.js';
import type { RequestKind } from './in-flight.js';

/** What a request asks for, as far as its head says. */
export interface Demand {
  readonly kind: RequestKind;
  /** Of the body, as announced; the rest is counted as it arrives. */
  readonly bytes: number;
}

const JSON_TYPE = /^\s*application\/json\s*(;|$)/i;

/**
 * A body that is not JSON is a stream, read in blocks, and counted by what of it is held at a time; so is an export, the
 * other way round. A JSON body above `maxBodyBytes` is refused unread.
 */
export function demandOf({ url = '', headers }: IncomingMessage, maxBodyBytes: number): Demand {
  const path = pathOf(url);
  if (isProbe(path)) return { kind: 'probes', bytes: 0 };
  if (path.endsWith('/export')) return { kind: 'streams', bytes: 0 };
  const announced = headers['content-length'];
  if (announced === undefined && headers['transfer-encoding'] === undefined) {
    return { kind: 'requests', bytes: 0 };
  }
  const bytes = Number(announced ?? 0);
  if (!JSON_TYPE.test(headers['content-type'] ?? '')) {
    return { kind: announced === '0' ? 'requests' : 'streams', bytes: 0 };
  }
  return { kind: 'requests', bytes: bytes > maxBodyBytes ? 0 : bytes };
}

function pathOf(url: string): string {
  const query = url.indexOf('?');
  return query < 0 ? url : url.slice(0, query);
}
