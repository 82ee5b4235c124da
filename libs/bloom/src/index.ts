export * from './error-rate.js';
export * from './fold.js';
export * from './geometry.js';
export * from './hash-scheme.js';
export { readStrings, type ReadStrings } from './kernel.js';
export * from './keys.js';
export * from './layers.js';
export * from './positions.js';
export {
  capacityAt,
  MAX_CAPACITY,
  MAX_ERROR_RATE,
  MIN_ERROR_RATE,
  pageShapeFor,
  planGeometry,
  type PageShape,
  type Segmentation,
  type Sizing,
} from './sizing.js';
