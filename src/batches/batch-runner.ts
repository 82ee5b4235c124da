import { Readable } from 'node:stream';
import { Inject, Injectable, StreamableFile } from '@nestjs/common';
import type { Keys } from '#bloom';
import type { Operation } from '#store';
import { RequestAuthenticator } from '../auth/request-authenticator.js';
import { Config } from '../config/config.js';
import { Lifecycle } from '../http/lifecycle.js';
import { ProblemReporter } from '../http/problem-reporter.js';
import { cutOffStalled } from '../http/stalled-reader.js';
import { streamLimits } from '../http/streamed-body.js';
import { RequestOperation } from '../idempotency/operations.js';
import { Metrics } from '../metrics/metrics.js';
import type { BatchConfig, Request } from '../request/request.js';
import type { BatchResult } from './batch.js';
import { entriesOf } from './json-batch.js';
import { batchLimits, type BatchLimits } from './limits.js';
import { maxLineBytes } from './line-format.js';
import type { LineBlock } from './line-blocks.js';
import { LineInput } from './line-input.js';
import { answerLines, streamEvents } from './stream-answer.js';
import { isLastLineOnly } from './stream-query.js';

/**
 * What a route does with a batch: once with all entries of a JSON body, once with each block of a stream. `C`: the operation of
 * a route that changes something, the deadline (ms since the epoch) of one that reads.
 */
export type Act<E extends Keys, C> = (entries: E, call: C) => Promise<BatchResult>;

/** Refuses a stream before its body is read, if it can be refused at all by then. */
export type Admit = () => Promise<unknown>;

/** Calls for the parts of one request. */
interface Calls<C> {
  whole(): C;
  block(firstLine: number, entries: readonly string[]): C;
}

/** Runs the batch of a request through the function that its route names, and answers in kind: JSON to JSON, lines to lines. */
@Injectable()
export class BatchRunner {
  private readonly limits: BatchLimits;

  constructor(
    @Inject(Config) private readonly config: Config,
    private readonly metrics: Metrics,
    private readonly reporter: ProblemReporter,
    private readonly lifecycle: Lifecycle,
    private readonly authenticator: RequestAuthenticator,
  ) {
    this.limits = batchLimits(config);
  }

  /** Of a route that changes something. */
  mutate<E extends Keys>(request: Request, act: Act<E, Operation>, admit: Admit): Promise<object> {
    return this.run(request, RequestOperation.of(request), act, admit);
  }

  /** Of a route that reads. */
  read<E extends Keys>(request: Request, act: Act<E, number>, admit: Admit): Promise<object> {
    const deadline = (): number => Date.now() + this.config.requestTimeoutMs;
    return this.run(request, { whole: deadline, block: deadline }, act, admit);
  }

  private async run<E extends Keys, C>(
    request: Request,
    calls: Calls<C>,
    act: Act<E, C>,
    admit: Admit,
  ): Promise<object> {
    const { body } = request;
    const { batch } = request.routeOptions.config;
    if (!batch) throw new TypeError('a route that runs batches says so (BatchRoute)');
    // Packed items come to routes of items only: see BATCH_READERS.
    const counted = async (entries: Keys, call: C): Promise<BatchResult> => {
      const result = await act(entries as E, call);
      this.metrics.countItems(batch.verb, result.counts);
      return result;
    };
    const lastLineOnly = isLastLineOnly(request.query);
    if (body instanceof LineInput) {
      await admit();
      return this.answerStream(request, batch, body, lastLineOnly, ({ from, items }) =>
        counted(items, calls.block(from, items)),
      );
    }
    const result = await counted(await entriesOf(body, batch.entries, this.limits), calls.whole());
    return batch.entries === 'items' ? { results: result.results } : result;
  }

  /** Nothing is sent before the first block is through, so that what fails at once is an ordinary error answer. */
  private async answerStream(
    request: Request,
    { entries }: BatchConfig,
    input: LineInput,
    lastLineOnly: boolean,
    act: (block: LineBlock) => Promise<BatchResult>,
  ): Promise<StreamableFile> {
    const { maxItemBytes, streamIdleMs: idleMs } = this.config;
    const run = (block: LineBlock) =>
      input.during(async () => {
        // Before each block, since a stream may outlive its credentials.
        await this.authenticator.confirm(request);
        return act(block);
      });
    const events = streamEvents(input, run, {
      requestId: request.id,
      lastLineOnly,
      limits: {
        entries,
        maxItemBytes,
        maxLineBytes: maxLineBytes(input.format, maxItemBytes),
        cutTo: entries === 'urls' ? maxItemBytes : undefined,
        ...streamLimits(this.config),
        graceOver: this.lifecycle.graceOver,
      },
      onProblem: (problem) => this.reporter.report(problem, request.id),
    });
    const first = await events.next();
    if (!first.done && first.value.refusal) {
      // Lets go of the body, which is discarded with the answer.
      await events.return();
      throw first.value.refusal;
    }
    const lines = cutOffStalled(answerLines(first, events), idleMs, () => input.payload.destroy());
    return new StreamableFile(Readable.from(lines, { objectMode: false }), { type: 'application/x-ndjson' });
  }
}
