import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { NamePipe } from '../validation/name.js';
import { ShallowPipe } from '../validation/shallow.pipe.js';
import { HistoryQueryDto } from './history.dto.js';
import { HistoryService } from './history.service.js';
import type { HistoryView } from './history.view.js';
import { HistoryRoute } from './routes.js';

@ApiTags('Visited sets')
@Controller('v1/visited-sets/:name/history')
export class VisitedSetHistoryController {
  constructor(private readonly history: HistoryService) {}

  @Get()
  @HistoryRoute('VISITED_SET_NOT_FOUND')
  get(
    @Param('name', NamePipe) name: string,
    @Query(ShallowPipe) query: HistoryQueryDto,
  ): Promise<HistoryView> {
    return this.history.of(name, 'visited-set', query);
  }
}
