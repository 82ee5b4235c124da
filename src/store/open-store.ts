import type { Store } from '#store';
import type { Config } from '../config/config.js';
import { StoreOpenError } from './store-open-error.js';

/** Opens the store that the settings choose. Throws StoreOpenError. */
export async function openStore(config: Config): Promise<Store> {
  try {
    return await openAdapter(config);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const setting = config.store === 'embedded' ? `DATA_DIR ${JSON.stringify(config.dataDir)}` : 'Redis';
    throw new StoreOpenError(`${setting} cannot be used: ${reason}`, { cause: error });
  }
}

/** An adapter is loaded only when it is used. */
async function openAdapter(config: Config): Promise<Store> {
  if (config.store === 'embedded') {
    const { EmbeddedStore } = await import('#store/embedded');
    return EmbeddedStore.open({
      dataDir: config.dataDir,
      fsync: config.embeddedFsync,
      maxRecordBytes: config.operationRecordBytes,
      syncIdleMs: config.syncIdleMs,
    });
  }
  const { RedisStore } = await import('#store/redis');
  if (!config.redis) throw new TypeError('STORE is redis, but nothing says where it is');
  const { operationRecordBytes: maxRecordBytes, syncIdleMs } = config;
  return RedisStore.open({ ...config.redis, maxRecordBytes, syncIdleMs });
}
