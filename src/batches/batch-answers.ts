import { Readable } from 'node:stream';
import { Inject, Injectable, StreamableFile } from '@nestjs/common';
import type { PackedKeys } from '#bloom';
import { Config } from '../config.js';
import { Lifecycle } from '../health/lifecycle.js';
import { streamLimits } from '../http/streamed-body.js';
import { ProblemReporter } from '../errors/problem-reporter.js';
import type { Calls } from '../idempotency/operations.js';
import { Metrics } from '../metrics/metrics.js';
import type { BatchResult, BatchTask, StreamAnswer } from './batch.js';
import { maxLineBytes } from './line-blocks.js';
import { LineInput } from './line-input.js';
import { answerLines, streamEvents } from './stream-answer.js';

/** Runs batches and answers in kind: JSON to JSON, NDJSON to lines. */
@Injectable()
export class BatchAnswers {
  constructor(
    @Inject(Config) private readonly config: Config,
    private readonly metrics: Metrics,
    private readonly reporter: ProblemReporter,
    private readonly lifecycle: Lifecycle,
  ) {}

  async answer<C, P extends PackedKeys = never>(
    batch: readonly string[] | P | LineInput,
    calls: Calls<C>,
    task: BatchTask<C, P>,
    stream: StreamAnswer,
  ): Promise<object> {
    if (batch instanceof LineInput) return this.answerStream(batch, calls, task, stream);
    return task.json(await this.run(task, batch, calls.whole()));
  }

  private async run<C, P extends PackedKeys>(
    task: BatchTask<C, P>,
    items: readonly string[] | P,
    call: C,
  ): Promise<BatchResult> {
    const result = await task.run(items, call);
    this.metrics.countItems(task.verb, result.counts);
    return result;
  }

  /** Nothing is sent before the first block is through, so that what fails at once is an ordinary error answer. */
  private async answerStream<C, P extends PackedKeys>(
    input: LineInput,
    calls: Calls<C>,
    task: BatchTask<C, P>,
    stream: StreamAnswer,
  ): Promise<StreamableFile> {
    await task.admit();
    const { maxItemBytes, streamIdleMs: idleMs } = this.config;
    const run = (items: readonly string[], call: C) =>
      input.during(async () => {
        await stream.confirmCaller();
        return this.run(task, items, call);
      });
    const counted: BatchTask<C> = { ...task, run };
    const events = streamEvents(input, calls, counted, {
      ...stream,
      limits: {
        rule: task.rule,
        maxItemBytes,
        // Text is decoded from valid UTF-8, which has no lone surrogates.
        wellFormed: input.format === 'text',
        maxLineBytes: maxLineBytes(input.format, maxItemBytes),
        cutTo: task.rule === 'url' ? maxItemBytes : undefined,
        ...streamLimits(this.config),
        graceOver: this.lifecycle.graceOver,
      },
      onProblem: (problem) => this.reporter.report(problem, stream.requestId),
    });
    const first = await events.next();
    if (!first.done && first.value.refusal) {
      // Lets go of the body, which is discarded with the answer.
      await events.return();
      throw first.value.refusal;
    }
    const lines = Readable.from(answerLines(first, events, input, idleMs), { objectMode: false });
    return new StreamableFile(lines, { type: 'application/x-ndjson' });
  }
}
