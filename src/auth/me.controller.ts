import { Controller, Get } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { Documented } from '../openapi/decorators.js';
import { Caller } from '../request/caller.js';
import type { Principal } from '../request/principal.js';
import { MeView, meView } from './me.view.js';

@ApiTags('Keys')
@Controller('v1/me')
export class MeController {
  @Get()
  @Documented({
    access: 'read',
    summary: 'What the caller may do',
    description: 'Of the credentials that came with the call; where none are asked for, of everyone.',
  })
  @ApiOkResponse({ type: MeView })
  me(@Caller() caller: Principal): MeView {
    return meView(caller);
  }
}
