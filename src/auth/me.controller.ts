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
    summary: "Get the caller's permissions",
    description:
      'Describes the credentials of this request. If the service requires none, it describes ' +
      'an anonymous caller.',
  })
  @ApiOkResponse({ type: MeView })
  me(@Caller() caller: Principal): MeView {
    return meView(caller);
  }
}
