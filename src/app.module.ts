import { Global, Module, type DynamicModule } from '@nestjs/common';
import type { Logger } from 'pino';
import { AuthModule } from './auth/auth.module.js';
import { BatchesModule } from './batches/batches.module.js';
import { Config } from './config.js';
import { ErrorsModule } from './errors/errors.module.js';
import { FiltersModule } from './filters/filters.module.js';
import { HealthModule } from './health/health.module.js';
import { RootLogger } from './logging/logger.js';
import { MetricsModule } from './metrics/metrics.module.js';
import { InFlight } from './overload/in-flight.js';
import { RateLimitModule } from './rate-limit/rate-limit.module.js';
import { StoreModule } from './store/store.module.js';
import { TransferModule } from './transfer/transfer.module.js';
import { VisitedSetsModule } from './visited-sets/visited-sets.module.js';

/** Everything, around one typed object of settings. */
@Global()
@Module({})
export class AppModule {
  static with(config: Config, logger: Logger, inFlight: InFlight): DynamicModule {
    const settings = [
      { provide: Config, useValue: config },
      { provide: RootLogger, useValue: logger },
      { provide: InFlight, useValue: inFlight },
    ];
    return {
      module: AppModule,
      imports: [
        StoreModule,
        RateLimitModule,
        AuthModule,
        ErrorsModule,
        MetricsModule,
        HealthModule,
        BatchesModule,
        FiltersModule,
        VisitedSetsModule,
        TransferModule,
      ],
      providers: settings,
      exports: settings,
    };
  }
}
