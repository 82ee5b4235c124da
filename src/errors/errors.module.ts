import { Global, Module } from '@nestjs/common';
import { ProblemFilter } from './problem.filter.js';
import { ProblemReporter } from './problem-reporter.js';

@Global()
@Module({ providers: [ProblemFilter, ProblemReporter], exports: [ProblemFilter, ProblemReporter] })
export class ErrorsModule {}
