import { Module } from '@nestjs/common';
import { FilterLifecycle } from './filter-lifecycle.js';
import { FilterPlanner } from './filter-planner.js';
import { FiltersController, PlanController } from './filters.controller.js';
import { FiltersService } from './filters.service.js';
import { InspectionService } from './inspection.service.js';
import { ItemsController } from './items.controller.js';
import { ItemsService } from './items.service.js';
import { Membership } from './membership.js';
import { OpenFilters } from './open-filters.js';

/** Standard and counting filters, and their parts that visited sets use. */
@Module({
  controllers: [FiltersController, PlanController, ItemsController],
  providers: [
    FilterLifecycle,
    FilterPlanner,
    FiltersService,
    InspectionService,
    ItemsService,
    Membership,
    OpenFilters,
  ],
  exports: [
    FilterLifecycle,
    FilterPlanner,
    FiltersService,
    InspectionService,
    ItemsService,
    Membership,
    OpenFilters,
  ],
})
export class FiltersModule {}
