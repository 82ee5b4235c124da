export * from './error-rate.js';
export * from './fold.js';
export * from './geometry.js';
export * from './hash-scheme.js';
export { readStrings, type ReadStrings } from './kernel.js';
export * from './keys.js';
export * from './positions.js';
export * from './sizing.js';
