export * from './errors.js';
export * from './segmentation.js';
export * from './store.js';
