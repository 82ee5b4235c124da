import { Global, Module } from '@nestjs/common';
import { AuditLog } from './audit-log.js';
import { Config } from '../config/config.js';
import { ApiKeys } from './api-keys.js';
import { KeysController } from './keys.controller.js';
import { MeController } from './me.controller.js';
import { KeysService } from './keys.service.js';
import { Clock } from '../store/clock.token.js';
import { Store } from '../store/store.token.js';
import { Authenticator } from './authenticator.js';
import { RequestAuthenticator } from './request-authenticator.js';
import { TokenVerifier } from './token-verifier.js';

/** Authentication, API keys, and the audit log. */
@Global()
@Module({
  controllers: [KeysController, MeController],
  providers: [
    AuditLog,
    KeysService,
    RequestAuthenticator,
    {
      provide: ApiKeys,
      inject: [Store, Clock],
      useFactory: ({ credentials }: Store, clock: Clock) => new ApiKeys(credentials, clock),
    },
    {
      provide: Authenticator,
      inject: [Config, ApiKeys, Clock],
      useFactory: ({ auth, oidc }: Config, keys: ApiKeys, clock: Clock) =>
        new Authenticator(auth, keys, oidc && new TokenVerifier(oidc, clock), clock),
    },
  ],
  exports: [AuditLog, ApiKeys, Authenticator, RequestAuthenticator],
})
export class AuthModule {}
