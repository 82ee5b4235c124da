export { EmbeddedStore, type EmbeddedOptions } from './embedded-store.js';
export { verifyDirectory, type VerifiedFilter } from './verify-directory.js';
