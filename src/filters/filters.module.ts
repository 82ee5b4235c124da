import { Module } from '@nestjs/common';
import { FilterLifecycle } from './filter-lifecycle.js';
import { FiltersController, PlanController } from './filters.controller.js';
import { FiltersService } from './filters.service.js';
import { ItemsController } from './items.controller.js';
import { ItemsService } from './items.service.js';
import { Membership } from './membership.js';
import { OpenFilters } from './open-filters.js';

/** Standard and counting filters, and the parts of them that visited sets use. */
@Module({
  controllers: [FiltersController, PlanController, ItemsController],
  providers: [FilterLifecycle, FiltersService, ItemsService, Membership, OpenFilters],
  exports: [FilterLifecycle, Membership, OpenFilters],
})
export class FiltersModule {}
