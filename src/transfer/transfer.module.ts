import { Module } from '@nestjs/common';
import { FiltersModule } from '../filters/filters.module.js';
import { FilterTransferController } from './filter-transfer.controller.js';
import { TransferService } from './transfer.service.js';
import { VisitedSetTransferController } from './visited-set-transfer.controller.js';

/** Exports and imports of whole filters. */
@Module({
  imports: [FiltersModule],
  controllers: [FilterTransferController, VisitedSetTransferController],
  providers: [TransferService],
})
export class TransferModule {}
