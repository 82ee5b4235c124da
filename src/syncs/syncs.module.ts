import { Module } from '@nestjs/common';
import { FiltersModule } from '../filters/filters.module.js';
import { VisitedSetsModule } from '../visited-sets/visited-sets.module.js';
import { FilterSyncsController } from './filter-syncs.controller.js';
import { SyncTender } from './sync-tender.js';
import { SyncsService } from './syncs.service.js';
import { VisitedSetSyncsController } from './visited-set-syncs.controller.js';

/** Keeps of a filter or visited set what is on a list, and forgets the rest. */
@Module({
  imports: [FiltersModule, VisitedSetsModule],
  controllers: [FilterSyncsController, VisitedSetSyncsController],
  providers: [SyncsService, SyncTender],
})
export class SyncsModule {}
