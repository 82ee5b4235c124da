import type { Store as StorePort } from '#store';

/** The port, and its Nest token with the same name. */
export type Store = StorePort;
export const Store = Symbol('Store');
