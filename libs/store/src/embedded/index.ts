export { EmbeddedStore, type EmbeddedOptions } from './embedded-store.js';
