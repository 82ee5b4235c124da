import { randomBytes } from 'node:crypto';

const prefix = randomBytes(6).toString('base64url');
let count = 0;

/** Ids unique over processes and restarts, cheap enough for every request. */
export function nextRequestId(): string {
  count++;
  return `${prefix}-${count.toString(36)}`;
}
