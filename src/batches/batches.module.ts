import { Global, Module } from '@nestjs/common';
import { BatchRunner } from './batch-runner.js';

@Global()
@Module({ providers: [BatchRunner], exports: [BatchRunner] })
export class BatchesModule {}
