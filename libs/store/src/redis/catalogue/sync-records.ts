import type { Operation, Sync } from '../../port/index.js';
import type { Catalogue, RecordedOperation } from './catalogue.js';
import type { CatalogueEntry } from '../layout/entry.js';

const OPEN = 'open-sync';
const END = 'end-sync';

/** The record of an operation that opens a sync, written by the same step. */
export function openedBy(
  operation: Operation,
  { generation, sync }: Pick<CatalogueEntry, 'generation'> & { readonly sync: Pick<Sync, 'id'> },
): RecordedOperation {
  const { fingerprint } = operation;
  return { verb: OPEN, operation, value: { fingerprint, generation, sync: { id: sync.id } } };
}

/** The record of a sync's end. Kept as long as the records of callers' operations. */
export function endOf({ generation }: CatalogueEntry, sync: Sync, deadline: number): RecordedOperation {
  return { verb: END, operation: ending(sync.id, deadline), value: { fingerprint: '', generation, sync } };
}

/** The id of the sync that an operation has opened, or undefined. Throws the same errors as Catalogue.recall. */
export async function recallOpened(
  catalogue: Catalogue,
  { name, generation }: CatalogueEntry,
  operation: Operation,
): Promise<string | undefined> {
  if (!operation.repeat) return undefined;
  const found = await catalogue.recall(OPEN, name, operation);
  return found?.generation === generation ? found.sync?.id : undefined;
}

/** The recorded end of a sync, or undefined. */
export async function recallEnd(
  catalogue: Catalogue,
  { name, generation }: CatalogueEntry,
  id: string,
  deadline: number,
): Promise<Sync | undefined> {
  const found = await catalogue.recall(END, name, ending(id, deadline));
  return found?.generation === generation ? (found.sync as Sync | undefined) : undefined;
}

/** A sync's end is recorded under the sync's id. */
function ending(id: string, deadline: number): Operation {
  return { id, origin: 'caller', fingerprint: '', repeat: true, deadline };
}
