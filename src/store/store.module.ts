import { Global, Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { Config } from '../config.js';
import { StoreOpenError } from './store-open-error.js';
import { Store } from './store.token.js';

async function openStore(config: Config): Promise<Store> {
  try {
    return await openAdapter(config);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const setting = config.store === 'embedded' ? `DATA_DIR ${JSON.stringify(config.dataDir)}` : 'Redis';
    throw new StoreOpenError(`${setting} cannot be used: ${reason}`, { cause: error });
  }
}

/** Adapters are loaded only when used. */
async function openAdapter(config: Config): Promise<Store> {
  if (config.store === 'embedded') {
    const { EmbeddedStore } = await import('#store/embedded');
    return EmbeddedStore.open({
      dataDir: config.dataDir,
      fsync: config.embeddedFsync,
      maxRecordBytes: config.operationRecordBytes,
    });
  }
  const { RedisStore } = await import('#store/redis');
  return RedisStore.open({
    ...(config.redisUrl !== undefined && { url: config.redisUrl }),
    ...(config.redisCluster.length > 0 && { clusterNodes: [...config.redisCluster] }),
    timeoutMs: config.redisTimeoutMs,
    maxRecordBytes: config.operationRecordBytes,
  });
}

/** The one place that chooses between the adapters. Closed after the last request. */
@Global()
@Module({
  providers: [{ provide: Store, useFactory: openStore, inject: [Config] }],
  exports: [Store],
})
export class StoreModule implements OnApplicationShutdown {
  constructor(@Inject(Store) private readonly store: Store) {}

  onApplicationShutdown(): Promise<void> {
    return this.store.close();
  }
}
