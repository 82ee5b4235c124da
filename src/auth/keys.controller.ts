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
    summary: 'Create an API key',
    description:
      'Only this answer shows the secret. Every request creates another key. If you lose the ' +
      'answer, find the key in the list and revoke it.',
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
    summary: 'Replace a key with a new one; the old key expires later',
    description:
      "The new key has the old key's name, scopes, prefix, limits and lifetime. Only this " +
      'answer shows its secret. The service creates the new key before it makes the old one ' +
      'expire, so after a failure, both are valid. Every request creates another key.',
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
    description: 'This instance refuses the key immediately, and other instances within two seconds.',
    codes: ['KEY_NOT_FOUND'],
  })
  @ApiNoContentResponse({ description: 'Revoked' })
  revoke(@Param('id') id: string, @Caller() caller: Principal): Promise<void> {
    return this.keys.revoke(id, caller);
  }
}
