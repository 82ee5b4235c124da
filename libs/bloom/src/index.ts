export * from './error-rate.js';
export * from './fold.js';
export * from './geometry.js';
export * from './hash-scheme.js';
export * from './positions.js';
export * from './sizing.js';
