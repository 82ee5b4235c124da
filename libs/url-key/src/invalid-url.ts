/**
 * The reasons to refuse a URL. The strings are stable: they appear in responses and in callers' code.
 *
 * `host too long`: the host has more than 253 bytes, or one of its labels more than 63, after IDNA and without a
 * trailing dot. `too long` is for callers that limit URL length, since `key` accepts any length.
 */
export const INVALID_URL_REASONS = [
  'empty',
  'lone surrogate',
  'not absolute',
  'scheme not http or https',
  'no host',
  'invalid host',
  'host too long',
  'invalid port',
  'invalid base',
  'too long',
] as const;

export type InvalidUrlReason = (typeof INVALID_URL_REASONS)[number];

/**
 * The result for a string without a key. It is a value, not an exception, because invalid URLs are common in a crawl.
 */
export class InvalidUrl {
  constructor(readonly reason: InvalidUrlReason) {}
}

const instances = new Map(
  INVALID_URL_REASONS.map((reason) => [reason, Object.freeze(new InvalidUrl(reason))]),
);

/** Returns the shared instance for a reason, so that a batch of bad URLs allocates nothing. */
export function invalidUrl(reason: InvalidUrlReason): InvalidUrl {
  return instances.get(reason) ?? new InvalidUrl(reason);
}
