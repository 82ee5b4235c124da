import { Module } from '@nestjs/common';
import { HealthController } from './health.controller.js';
import { MetricsController } from './metrics.controller.js';

/** What operators and orchestrators ask. */
@Module({ controllers: [HealthController, MetricsController] })
export class OperationModule {}
