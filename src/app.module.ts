import { Global, Module, type DynamicModule } from '@nestjs/common';
import type { Logger } from 'pino';
import { InFlight } from './admission/in-flight.js';
import { Turns } from './admission/turns.js';
import { ConnectionLimit } from './http/connection-limit.js';
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
import { RespModule } from './resp/resp.module.js';
import { StoreModule } from './store/store.module.js';
import { SyncsModule } from './syncs/syncs.module.js';
import { Tracing } from './tracing/tracing.js';
import { TransferModule } from './transfer/transfer.module.js';
import { VisitedSetsModule } from './visited-sets/visited-sets.module.js';

/** The parts shared by HTTP and the Redis protocol. */
interface SharedParts {
  readonly inFlight: InFlight;
  readonly turns: Turns;
  readonly connections: ConnectionLimit;
  readonly tracing: Tracing | undefined;
}

/** The whole service, built from one typed object of settings. */
@Global()
@Module({})
export class AppModule {
  static with(config: Config, logger: Logger, shared: SharedParts): DynamicModule {
    const settings = [
      { provide: Config, useValue: config },
      { provide: RootLogger, useValue: logger },
      { provide: InFlight, useValue: shared.inFlight },
      { provide: Turns, useValue: shared.turns },
      { provide: ConnectionLimit, useValue: shared.connections },
      { provide: Tracing, useValue: shared.tracing ?? null },
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
        RespModule,
      ],
      providers: settings,
      exports: settings,
    };
  }
}
