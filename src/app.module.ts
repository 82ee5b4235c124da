import { Global, Module, type DynamicModule } from '@nestjs/common';
import type { Logger } from 'pino';
import { InFlight } from './admission/in-flight.js';
import { AuthModule } from './auth/auth.module.js';
import { BatchesModule } from './batches/batches.module.js';
import { Config } from './config/config.js';
import { HttpModule } from './http/http.module.js';
import { FiltersModule } from './filters/filters.module.js';
import { OperationModule } from './operation/operation.module.js';
import { RootLogger } from './logging/logger.js';
import { HistoryModule } from './history/history.module.js';
import { MetricsModule } from './metrics/metrics.module.js';
import { AdmissionModule } from './admission/admission.module.js';
import { StoreModule } from './store/store.module.js';
import { SyncsModule } from './syncs/syncs.module.js';
import { TransferModule } from './transfer/transfer.module.js';
import { VisitedSetsModule } from './visited-sets/visited-sets.module.js';

/** The whole service, built from one typed object of settings. */
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
        AdmissionModule,
        AuthModule,
        MetricsModule,
        HttpModule,
        OperationModule,
        BatchesModule,
        FiltersModule,
        VisitedSetsModule,
        TransferModule,
        SyncsModule,
        HistoryModule,
      ],
      providers: settings,
      exports: settings,
    };
  }
}
