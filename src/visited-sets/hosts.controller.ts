import { Body, Controller, Delete, Get, Param, Put, Query } from '@nestjs/common';
import { ApiOkResponse, ApiParam, ApiTags } from '@nestjs/swagger';
import type { Operation } from '#store';
import { Mutation } from '../idempotency/decorators.js';
import { Documented, MutatingRoute } from '../openapi/decorators.js';
import { NamePipe } from '../validation/name.js';
import { ShallowPipe } from '../validation/shallow.pipe.js';
import { HostSettingsDto } from './host.dto.js';
import { DroppedView, HostListView, HostView } from './host.view.js';
import { HostsService } from './hosts.service.js';
import { QueuePageQueryDto } from './visited-set.dto.js';

const CODES = ['VISITED_SET_NOT_FOUND', 'STORE_DATA_LOST'] as const;

const HOST = ApiParam({
  name: 'host',
  schema: { type: 'string' },
  example: 'example.org',
  description: 'A host name or address as in a URL, without user info or port',
});

@ApiTags('Hosts')
@Controller('v1/visited-sets/:name/hosts')
export class HostsController {
  constructor(private readonly hosts: HostsService) {}

  @Get()
  @Documented({
    access: 'read',
    summary: 'List the hosts in a set with `perHost`',
    description:
      'Lists hosts that have queued URLs, URLs that count towards `maxUrls`, or their own settings, in no particular ' +
      'order. If hosts are added or removed while you read the pages, a host may be on two pages. A page may be shorter ' +
      'than `limit` even if more follow.',
    codes: CODES,
  })
  @ApiOkResponse({ type: HostListView })
  list(
    @Param('name', NamePipe) name: string,
    @Query(ShallowPipe) query: QueuePageQueryDto,
  ): Promise<HostListView> {
    return this.hosts.list(name, query);
  }

  @Get(':host')
  @HOST
  @Documented({ access: 'read', summary: 'Describe a host', codes: ['HOST_NOT_FOUND', ...CODES] })
  @ApiOkResponse({ type: HostView })
  get(@Param('name', NamePipe) name: string, @Param('host') host: string): Promise<HostView> {
    return this.hosts.get(name, host);
  }

  @Put(':host')
  @HOST
  @MutatingRoute({
    access: 'write',
    summary: "Replace a host's settings, or block it",
    description:
      "For an absent member, the set's setting applies. If a release has delayed the host for longer than its " +
      '`delaySeconds`, this call shortens the wait to `delaySeconds`.',
    codes: [...CODES, 'STORE_FULL'],
  })
  @ApiOkResponse({ type: HostView })
  set(
    @Param('name', NamePipe) name: string,
    @Param('host') host: string,
    @Body(ShallowPipe) body: HostSettingsDto,
    @Mutation() operation: Operation,
  ): Promise<HostView> {
    return this.hosts.set(name, host, body, operation);
  }

  @Delete(':host')
  @HOST
  @MutatingRoute({
    access: 'write',
    summary: "Drop a host's URLs from the queue",
    description: 'They stay visited, and the host keeps its delay and its settings.',
    codes: CODES,
  })
  @ApiOkResponse({ type: DroppedView })
  drop(
    @Param('name', NamePipe) name: string,
    @Param('host') host: string,
    @Mutation() operation: Operation,
  ): Promise<DroppedView> {
    return this.hosts.drop(name, host, operation);
  }
}
