import { Global, Module, type DynamicModule } from '@nestjs/common';
import type { Logger } from 'pino';
import { BatchesModule } from './batches/batches.module.js';
import { Config } from './config.js';
import { ErrorsModule } from './errors/errors.module.js';
import { FiltersModule } from './filters/filters.module.js';
import { HealthModule } from './health/health.module.js';
import { RootLogger } from './logging/logger.js';
import { MetricsModule } from './metrics/metrics.module.js';
import { StoreModule } from './store/store.module.js';
import { VisitedSetsModule } from './visited-sets/visited-sets.module.js';

/** Everything, around one typed object of settings. */
@Global()
@Module({})
export class AppModule {
  static with(config: Config, logger: Logger): DynamicModule {
    const settings = [
      { provide: Config, useValue: config },
      { provide: RootLogger, useValue: logger },
    ];
    return {
      module: AppModule,
      imports: [
        StoreModule,
        ErrorsModule,
        MetricsModule,
        HealthModule,
        BatchesModule,
        FiltersModule,
        VisitedSetsModule,
      ],
      providers: settings,
      exports: settings,
    };
  }
}
