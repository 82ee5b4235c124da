export * from './errors.js';
export * from './export-file/decode.js';
export * from './export-file/encode.js';
export * from './export-file/export-file-error.js';
export * from './export-file/header.js';
export * from './join-all.js';
export * from './segmentation.js';
export * from './store.js';
