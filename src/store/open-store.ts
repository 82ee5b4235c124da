import {
  NO_OBSERVER,
  SYSTEM_CLOCK,
  SYSTEM_RANDOM,
  type Clock,
  type RandomSource,
  type Store,
  type StoreObserver,
} from '#store';
import type { Config } from '../config/config.js';
import { StoreOpenError } from './store-open-error.js';

interface Parts {
  readonly random: RandomSource;
  readonly clock: Clock;
  readonly observer: StoreObserver;
}

/** Opens the store that the settings choose. Throws StoreOpenError. */
export async function openStore(
  config: Config,
  random = SYSTEM_RANDOM,
  clock = SYSTEM_CLOCK,
  observer = NO_OBSERVER,
): Promise<Store> {
  try {
    return await openAdapter(config, { random, clock, observer });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const setting = config.store === 'embedded' ? `DATA_DIR ${JSON.stringify(config.dataDir)}` : 'Redis';
    throw new StoreOpenError(`${setting} cannot be used: ${reason}`, { cause: error });
  }
}

/** Loads only the adapter that is used. */
async function openAdapter(config: Config, parts: Parts): Promise<Store> {
  if (config.store === 'embedded') {
    const { EmbeddedStore } = await import('#store/embedded');
    return EmbeddedStore.open({
      dataDir: config.dataDir,
      fsync: config.embeddedFsync,
      maxRecordBytes: config.operationRecordBytes,
      syncIdleMs: config.syncIdleMs,
      ...parts,
    });
  }
  const { RedisStore } = await import('#store/redis');
  if (!config.redis) throw new TypeError('STORE is redis, but no setting says where Redis is');
  const { operationRecordBytes: maxRecordBytes, syncIdleMs } = config;
  return RedisStore.open({ ...config.redis, maxRecordBytes, syncIdleMs, ...parts });
}
