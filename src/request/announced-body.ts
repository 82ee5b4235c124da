import type { IncomingMessage } from 'node:http';
import { show } from '../errors/show.js';

type Head = Pick<IncomingMessage, 'headers'>;

const JSON_TYPE = /^\s*application\/json\s*(;|$)/i;

/** The kind of body that a request's headers announce. */
export function announcedBody({ headers }: Head): 'none' | 'json' | 'other' {
  const bytes = headers['content-length'];
  if (bytes === '0' || (bytes === undefined && headers['transfer-encoding'] === undefined)) return 'none';
  return JSON_TYPE.test(headers['content-type'] ?? '') ? 'json' : 'other';
}

const CHARSET = /;\s*charset\s*=\s*"?([^\s;"]*)/i;

/**
 * Why to refuse a body that is compressed or declares a charset other than UTF-8. Read as UTF-8, it might contain
 * different items.
 */
export function encodingFault({ headers }: Head): string | undefined {
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding.toLowerCase() !== 'identity') {
    return 'the service does not accept compressed bodies; send the body without Content-Encoding';
  }
  const transfer = headers['transfer-encoding'] ?? 'chunked';
  if (transfer.toLowerCase() !== 'chunked') {
    return `Transfer-Encoding must be absent or chunked, not ${show(transfer)}`;
  }
  const charset = CHARSET.exec(headers['content-type'] ?? '')?.[1]?.toLowerCase() ?? 'utf-8';
  return ['utf-8', 'utf8', 'us-ascii'].includes(charset)
    ? undefined
    : `the charset of a body must be UTF-8, not ${show(charset)}`;
}
