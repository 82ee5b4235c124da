import { Module } from '@nestjs/common';
import { FilterHistoryController } from './filter-history.controller.js';
import { HistorySampler } from './history-sampler.js';
import { HistoryService } from './history.service.js';
import { VisitedSetHistoryController } from './visited-set-history.controller.js';

/** The history of filters and visited sets over the last hours. */
@Module({
  controllers: [FilterHistoryController, VisitedSetHistoryController],
  providers: [HistoryService, HistorySampler],
})
export class HistoryModule {}
