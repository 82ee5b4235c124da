import type { Operation } from '#store';

/**
 * An operation that must wait for the previous one, such as a stream's block. The service may already prepare it, but
 * must not send it to the store yet.
 */
export interface OrderedOperation extends Operation {
  /** Resolves with the operation for the store when its turn comes. Rejects if it never comes. */
  readonly inTurn?: () => Promise<Operation>;
}

/** Waits until the operation may go to the store. */
export async function whenInTurn(operation: OrderedOperation): Promise<Operation> {
  return operation.inTurn === undefined ? operation : operation.inTurn();
}
