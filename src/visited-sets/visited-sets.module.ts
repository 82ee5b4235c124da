import { Module } from '@nestjs/common';
import { FiltersModule } from '../filters/filters.module.js';
import { CrawlQueueService } from './crawl-queue.service.js';
import { HostsController } from './hosts.controller.js';
import { HostsService } from './hosts.service.js';
import { QueueEntriesService } from './queue-entries.service.js';
import { QueueController } from './queue.controller.js';
import { UrlIdentity } from './url-identity.js';
import { UrlsController } from './urls.controller.js';
import { UrlsService } from './urls.service.js';
import { VisitedSetsController } from './visited-sets.controller.js';
import { VisitedSetsService } from './visited-sets.service.js';
import { WaitingLeases } from './waiting-leases.js';

/** Combines a counting filter, URL identity, and a queue into a visited set. */
@Module({
  imports: [FiltersModule],
  controllers: [VisitedSetsController, UrlsController, QueueController, HostsController],
  providers: [
    VisitedSetsService,
    UrlsService,
    UrlIdentity,
    CrawlQueueService,
    QueueEntriesService,
    HostsService,
    WaitingLeases,
  ],
  exports: [UrlsService, CrawlQueueService],
})
export class VisitedSetsModule {}
