import { Module } from '@nestjs/common';
import { FiltersModule } from '../filters/filters.module.js';
import { VisitedSetsModule } from '../visited-sets/visited-sets.module.js';
import { Dispatcher } from './dispatcher.js';
import { FilterCommands } from './filter-commands.js';
import { Gate } from './gate.js';
import { ItemRunner } from './item-runner.js';
import { Operations } from './operations.js';
import { QueueCommands } from './queue-commands.js';
import { RespMetrics } from './resp-metrics.js';
import { RespServer } from './resp-server.js';
import { Targets } from './targets.js';

/** The Redis protocol: a second way to the services behind the controllers. */
@Module({
  imports: [FiltersModule, VisitedSetsModule],
  providers: [
    RespServer,
    Dispatcher,
    FilterCommands,
    QueueCommands,
    Gate,
    ItemRunner,
    Operations,
    RespMetrics,
    Targets,
  ],
})
export class RespModule {}
