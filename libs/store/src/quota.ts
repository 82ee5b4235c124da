import { StoreError } from './errors.js';
import type { Quota, Usage } from './port/index.js';

/** Throws QUOTA_EXCEEDED if `added` on top of `used` exceeds the quota. */
export function assertWithin(quota: Quota, used: Usage, added: Usage): void {
  const { prefix, maxFilters = Infinity, maxBytes = Infinity } = quota;
  if (added.filters > 0 && used.filters + added.filters > maxFilters) {
    throw exceeded(
      `there are ${used.filters} filters and visited sets of "${prefix}"; at most ${maxFilters} are allowed`,
    );
  }
  if (added.bytes > 0 && used.bytes + added.bytes > maxBytes) {
    throw exceeded(
      `it would take ${added.bytes} bytes; filters and visited sets of "${prefix}" take ${used.bytes} and may take ${maxBytes}`,
    );
  }
}

function exceeded(message: string): StoreError {
  return new StoreError('QUOTA_EXCEEDED', message);
}
