export * from './errors.js';
export * from './store.js';
