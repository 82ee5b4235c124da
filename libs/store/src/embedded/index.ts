export { EmbeddedStore, type EmbeddedOptions } from './embedded-store.js';
export { hasData } from './database/database.js';
export { verifyDirectory, type VerifiedFilter } from './verify-directory.js';
