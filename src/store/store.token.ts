import type { Store as StorePort } from '#store';

/** The port, and under the same name its Nest token. */
export type Store = StorePort;
export const Store = Symbol('Store');
