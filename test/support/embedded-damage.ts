import { open } from 'lmdb';
import { join } from 'node:path';
import type { Filter } from '#store';
import { FORMAT } from '../../libs/store/src/embedded/database/database.js';

/** How another program, or the disk, has damaged a segment's cells. */
export type Damage = 'missing' | 'short';

/**
 * Damages a segment in the database while the embedded store is closed. Removes its first checkpointed block, or that
 * block's last byte. A block's key is the filter's generation (8 bytes), its layer (4) and its number (4). Segments in
 * tests have one block.
 */
export async function damageBlock(
  dataDir: string,
  filter: Pick<Filter, 'name' | 'generation'>,
  segment: number,
  how: Damage,
): Promise<void> {
  const root = open({ path: join(dataDir, 'data.mdb'), noSubdir: true });
  const blocks = root.openDB<Buffer, Buffer>({ name: 'blocks', encoding: 'binary', keyEncoding: 'binary' });
  const key = Buffer.concat([Buffer.from(filter.generation, 'hex'), Buffer.alloc(8)]);
  key.writeUInt32BE(segment, 12);
  const block = blocks.get(key);
  if (!block) throw new Error(`segment ${segment} of ${filter.name} has no block to damage`);
  if (how === 'missing') await blocks.remove(key);
  else await blocks.put(key, block.subarray(0, -1));
  await root.close();
}

/** Replaces the format version while the embedded store is closed, as another version of the service would. */
export async function setFormat(dataDir: string, version: string): Promise<void> {
  const root = open({ path: join(dataDir, 'data.mdb'), noSubdir: true });
  const meta = root.openDB<Buffer, Buffer>({ name: 'meta', encoding: 'binary', keyEncoding: 'binary' });
  await meta.put(FORMAT, Buffer.from(version));
  await root.close();
}
