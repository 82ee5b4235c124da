import { Module } from '@nestjs/common';
import { FilterCatalogue } from './filter-catalogue.js';
import { FiltersController, PlanController } from './filters.controller.js';
import { FiltersService } from './filters.service.js';
import { ItemsController } from './items.controller.js';
import { ItemsService } from './items.service.js';
import { Membership } from './membership.js';
import { OpenFilters } from './open-filters.js';

/** Standard and counting filters, and the parts of them that visited sets are built on. */
@Module({
  controllers: [FiltersController, PlanController, ItemsController],
  providers: [FilterCatalogue, FiltersService, ItemsService, Membership, OpenFilters],
  exports: [FilterCatalogue, Membership, OpenFilters],
})
export class FiltersModule {}
