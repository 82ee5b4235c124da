import { Global, Module } from '@nestjs/common';
import { BatchAnswers } from './batch-answers.js';

@Global()
@Module({ providers: [BatchAnswers], exports: [BatchAnswers] })
export class BatchesModule {}
