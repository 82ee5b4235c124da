import type { Operation } from '#store';

/**
 * An operation that has to wait for the one before it, as that of a block of a stream does. What it is about can be
 * prepared meanwhile: only the store may not be told of it.
 */
export interface OrderedOperation extends Operation {
  /** Resolves with the operation as the store takes it when its turn has come. Throws if it never comes. */
  readonly inTurn?: () => Promise<Operation>;
}

/** The operation, once the store may be told of it. */
export async function whenInTurn(operation: OrderedOperation): Promise<Operation> {
  return operation.inTurn === undefined ? operation : operation.inTurn();
}
