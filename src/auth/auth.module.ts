import { Global, Module } from '@nestjs/common';
import { AuditLog } from '../audit/audit-log.js';
import { Config } from '../config.js';
import { ApiKeys } from '../keys/api-keys.js';
import { KeysController } from '../keys/keys.controller.js';
import { KeysService } from '../keys/keys.service.js';
import { Store } from '../store/store.token.js';
import { Authenticator } from './authenticator.js';
import { TokenVerifier } from './token-verifier.js';

/** Who may do what, and who did it. */
@Global()
@Module({
  controllers: [KeysController],
  providers: [
    AuditLog,
    KeysService,
    { provide: ApiKeys, inject: [Store], useFactory: ({ credentials }: Store) => new ApiKeys(credentials) },
    {
      provide: Authenticator,
      inject: [Config, ApiKeys],
      useFactory: ({ auth, oidc }: Config, keys: ApiKeys) =>
        new Authenticator(auth, keys, oidc && new TokenVerifier(oidc)),
    },
  ],
  exports: [AuditLog, ApiKeys, Authenticator],
})
export class AuthModule {}
