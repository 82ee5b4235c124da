import { Global, Module } from '@nestjs/common';
import { Lifecycle } from './lifecycle.js';
import { ProblemFilter } from './problem.filter.js';
import { ProblemReporter } from './problem-reporter.js';

const SHARED = [Lifecycle, ProblemFilter, ProblemReporter];

@Global()
@Module({ providers: SHARED, exports: SHARED })
export class HttpModule {}
