import { Body, Controller, Delete, Get, HttpCode, Param, Post } from '@nestjs/common';
import { ApiBody, ApiCreatedResponse, ApiNoContentResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { Caller } from '../request/caller.js';
import type { Principal } from '../request/principal.js';
import { Documented } from '../openapi/decorators.js';
import { OptionalBodyPipe, ShallowPipe } from '../validation/shallow.pipe.js';
import { CreateKeyDto, RotateKeyDto } from './key.dto.js';
import { KeyListView, NewKeyView } from './key.view.js';
import { KeysService } from './keys.service.js';

@ApiTags('Keys')
@Controller('v1/keys')
export class KeysController {
  constructor(private readonly keys: KeysService) {}

  @Post()
  @Documented({
    access: 'admin',
    allNames: true,
    summary: 'Make an API key',
    description:
      'Its secret is in this answer only. Every request makes another key: one whose answer was lost is in the list, ' +
      'to be revoked.',
    codes: ['STORE_FULL'],
  })
  @ApiCreatedResponse({ type: NewKeyView })
  create(@Body(ShallowPipe) body: CreateKeyDto, @Caller() caller: Principal): Promise<NewKeyView> {
    return this.keys.create(body, caller);
  }

  @Get()
  @Documented({ access: 'admin', allNames: true, summary: 'List API keys by id' })
  @ApiOkResponse({ type: KeyListView })
  list(): Promise<KeyListView> {
    return this.keys.list();
  }

  @Post(':id/rotate')
  @Documented({
    access: 'admin',
    allNames: true,
    summary: 'Make a key in place of another, which ends later',
    description:
      'The new key has the name, scopes, prefix and bounds of the old one, and is valid for as long as that was made for. Its ' +
      'secret is in this answer only. It is made first, then the old one is told its end: after a failure in between both are ' +
      'valid. Every request makes another key.',
    codes: ['KEY_NOT_FOUND', 'STORE_FULL'],
  })
  @ApiBody({ type: RotateKeyDto, required: false })
  @ApiCreatedResponse({ type: NewKeyView })
  rotate(
    @Param('id') id: string,
    @Body(OptionalBodyPipe) body: RotateKeyDto,
    @Caller() caller: Principal,
  ): Promise<NewKeyView> {
    return this.keys.rotate(id, body, caller);
  }

  @Delete(':id')
  @HttpCode(204)
  @Documented({
    access: 'admin',
    allNames: true,
    summary: 'Revoke an API key',
    description: 'This instance refuses it at once, others within two seconds.',
    codes: ['KEY_NOT_FOUND'],
  })
  @ApiNoContentResponse({ description: 'Revoked' })
  revoke(@Param('id') id: string, @Caller() caller: Principal): Promise<void> {
    return this.keys.revoke(id, caller);
  }
}
