export { EmbeddedStore, type EmbeddedOptions } from './embedded-store.js';
export { hasData } from './database.js';
export { verifyDirectory, type VerifiedFilter } from './verify-directory.js';
