import { StoreError } from './errors.js';
import type { Quota, Usage } from './port/index.js';

/** Throws QUOTA_EXCEEDED if `added` on top of `used` exceeds the quota. */
export function assertWithin(quota: Quota, used: Usage, added: Usage): void {
  const { prefix, maxFilters = Infinity, maxBytes = Infinity } = quota;
  if (added.filters > 0 && used.filters + added.filters > maxFilters) {
    throw exceeded(
      `prefix "${prefix}" has ${used.filters} of the ${maxFilters} filters and visited sets that its quota allows; nothing was created`,
    );
  }
  if (added.bytes > 0 && used.bytes + added.bytes > maxBytes) {
    throw exceeded(
      `this needs ${added.bytes} more bytes; prefix "${prefix}" uses ${used.bytes} of the ${maxBytes} bytes that its quota allows; nothing was changed`,
    );
  }
}

function exceeded(message: string): StoreError {
  return new StoreError(
    'QUOTA_EXCEEDED',
    `${message}. Delete filters under this prefix, or use a key with a larger quota`,
  );
}
