export { compileProfile, type UrlCanonicaliser } from './canonicaliser.js';
export { compileExplanation, type Explanation, type Step } from './explain.js';
export { hostOfKey } from './host-of-key.js';
export { INVALID_URL_REASONS, InvalidUrl, type InvalidUrlReason } from './invalid-url.js';
export { InvalidUrlProfileError, normaliseProfile } from './normalise.js';
export {
  BASES,
  MAX_NAME_LENGTH,
  MAX_NAMES,
  type NormalisedUrlProfile,
  type UrlProfileSpec,
} from './profile.js';
export { TRACKING_VERSIONS } from './tracking.js';
