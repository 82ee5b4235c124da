import type { ChainableCommander } from 'ioredis';

/** The replies to a transaction's commands. Throws the error of the first command that failed. */
export async function together(transaction: ChainableCommander): Promise<unknown[]> {
  try {
    const outcomes = (await transaction.exec()) ?? [];
    return outcomes.map(([error, value]) => {
      if (error) throw error;
      return value;
    });
  } catch (error) {
    // The errors of the individual commands say why the transaction was discarded.
    const [cause] = (error as { previousErrors?: unknown[] }).previousErrors ?? [];
    throw cause ?? error;
  }
}
