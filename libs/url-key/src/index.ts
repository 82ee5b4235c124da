export { compileProfile, type UrlCanonicaliser } from './canonicaliser.js';
export { INVALID_URL_REASONS, InvalidUrl, type InvalidUrlReason } from './invalid-url.js';
export { InvalidUrlProfileError, normaliseProfile } from './normalise.js';
export type { NormalisedUrlProfile, UrlProfileSpec } from './profile.js';
