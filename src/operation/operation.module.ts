import { Module } from '@nestjs/common';
import { HealthController } from './health.controller.js';
import { MetricsController } from './metrics.controller.js';

/** Routes for operators and orchestrators. */
@Module({ controllers: [HealthController, MetricsController] })
export class OperationModule {}
