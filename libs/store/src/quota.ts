import { StoreError } from './errors.js';
import type { Quota, Usage } from './port/index.js';

/** Throws QUOTA_EXCEEDED if `added` on top of `used` exceeds the quota. */
export function assertWithin(quota: Quota, used: Usage, added: Usage): void {
  const { prefix, maxFilters = Infinity, maxBytes = Infinity } = quota;
  if (added.filters > 0 && used.filters + added.filters > maxFilters) {
    throw exceeded(
      `prefix "${prefix}" has ${used.filters} filters and visited sets, and its quota allows ${maxFilters}`,
    );
  }
  if (added.bytes > 0 && used.bytes + added.bytes > maxBytes) {
    throw exceeded(
      `this takes ${added.bytes} bytes; prefix "${prefix}" uses ${used.bytes} bytes, and its quota allows ${maxBytes}`,
    );
  }
}

function exceeded(message: string): StoreError {
  return new StoreError('QUOTA_EXCEEDED', message);
}
