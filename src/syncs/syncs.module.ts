import { Module } from '@nestjs/common';
import { FiltersModule } from '../filters/filters.module.js';
import { VisitedSetsModule } from '../visited-sets/visited-sets.module.js';
import { FilterSyncsController } from './filter-syncs.controller.js';
import { SyncTender } from './sync-tender.js';
import { SyncsService } from './syncs.service.js';
import { VisitedSetSyncsController } from './visited-set-syncs.controller.js';

/** Keeps the items of a filter or visited set that are in an input list, and forgets all others. */
@Module({
  imports: [FiltersModule, VisitedSetsModule],
  controllers: [FilterSyncsController, VisitedSetSyncsController],
  providers: [SyncsService, SyncTender],
})
export class SyncsModule {}
