import { Readable } from 'node:stream';
import { Inject, Injectable, StreamableFile } from '@nestjs/common';
import type { Keys } from '#bloom';
import { deadlineIn, type Operation } from '#store';
import { RequestAuthenticator } from '../auth/request-authenticator.js';
import { Config } from '../config/config.js';
import { Lifecycle } from '../http/lifecycle.js';
import { ProblemReporter } from '../http/problem-reporter.js';
import { cutOffStalled } from '../http/stalled-reader.js';
import { streamLimits } from '../http/streamed-body.js';
import { blockOperation, operationOf } from '../idempotency/operations.js';
import { invalid } from '../errors/problem.js';
import { show } from '../errors/show.js';
import type { Used } from '../metrics/busy-filters.js';
import { Metrics } from '../metrics/metrics.js';
import { contextOf, idsOf } from '../request/context.js';
import type { BatchConfig, Request } from '../request/request.js';
import { jsonObject } from '../validation/json-object.js';
import type { BatchResult } from './batch.js';
import {
  batchLimits,
  jsonBatch,
  MAX_URL_PAYLOAD_BYTES,
  type BatchLimits,
  type Discovery,
} from './entries.js';
import { maxLineBytes } from './line-format.js';
import type { LineBlock } from './line-blocks.js';
import { LineInput } from './line-input.js';
import type { OrderedOperation } from './ordered-operation.js';
import { PackedItems } from './packed-items.js';
import { answerLines, streamEvents } from './stream-answer.js';

/** A batch's entries. Only the routes for discoveries get URLs with payloads. */
type Batch = Keys | readonly Discovery[];

/**
 * Executes all entries of a JSON body in one call, and each block of a stream in its own call. `C` is the operation on
 * a route that changes data, or the deadline (ms since the epoch) on a route that reads.
 */
export type Act<E extends Batch, C> = (entries: E, call: C) => Promise<BatchResult>;

/** Runs the checks that can refuse a stream before its body is read. */
export type Admit = () => Promise<unknown>;

/** How to run one request's batch. */
interface Task<E extends Batch, C> {
  readonly act: Act<E, C>;
  readonly admit: Admit;
  readonly whole: C;
  /** The call for a block. The block may reach the store once `ready` resolves. */
  readonly ofBlock: (block: LineBlock, ready: () => Promise<void>) => C | Promise<C>;
  /** True if each block is an operation. A repeat of the request must then give the same blocks. */
  readonly wholeBlocks: boolean;
}

/** Runs a request's batch through its route's function. A JSON body gets a JSON answer, and lines get lines. */
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

  /** Runs a batch on a route that changes data. */
  mutate<E extends Batch>(request: Request, act: Act<E, Operation>, admit: Admit): Promise<object> {
    const whole = operationOf(request);
    return this.run(request, {
      act,
      admit,
      whole,
      ofBlock: ({ from, items }, ready): OrderedOperation => {
        const operation = blockOperation(request, whole, from, items);
        const inTurn = async (): Promise<Operation> => {
          await ready();
          return { ...operation, deadline: this.deadline() };
        };
        return { ...operation, inTurn };
      },
      wholeBlocks: whole.repeat,
    });
  }

  /** Runs a batch on a route that reads. */
  read<E extends Batch>(request: Request, act: Act<E, number>, admit: Admit): Promise<object> {
    return this.run(request, {
      act,
      admit,
      whole: this.deadline(),
      ofBlock: async (_, ready) => {
        await ready();
        return this.deadline();
      },
      wholeBlocks: false,
    });
  }

  private deadline(): number {
    return deadlineIn(this.config.requestTimeoutMs);
  }

  private async run<E extends Batch, C>(request: Request, task: Task<E, C>): Promise<object> {
    const { body } = request;
    const { batch } = request.routeOptions.config;
    if (!batch) throw new TypeError('a route that runs batches must declare it (BatchRoute)');
    const lastLineOnly = isLastLineOnly(request.query, batch.options);
    if (body instanceof LineInput) {
      await task.admit();
      return this.answerStream(request, batch, body, lastLineOnly, task);
    }
    const entries: Batch =
      body instanceof PackedItems
        ? await body.entries(this.limits)
        : jsonBatch(body, batch.entries, this.limits, batch.options);
    // Only routes for items get packed items, so the cast is safe (see BATCH_READERS).
    const result = await task.act(entries as E, task.whole);
    this.metrics.countItems(usedBy(request, batch), batch.verb, result.counts);
    return batch.entries === 'items' ? { results: result.results } : result;
  }

  /** Sends nothing until the first block is done, so that an early failure becomes an ordinary error answer. */
  private async answerStream<E extends Batch, C>(
    request: Request,
    batch: BatchConfig,
    input: LineInput,
    lastLineOnly: boolean,
    { act, ofBlock, wholeBlocks }: Task<E, C>,
  ): Promise<StreamableFile> {
    const { maxItemBytes, streamIdleMs: idleMs } = this.config;
    const { entries, verb } = batch;
    const used = usedBy(request, batch);
    const run = (block: LineBlock, before: Promise<unknown>) =>
      input.during(async () => {
        const ready = async (): Promise<void> => {
          await before;
          // Checked before each block, because a stream may outlive its credentials.
          await this.authenticator.confirm(request);
        };
        const result = await act(block.items as Batch as E, await ofBlock(block, ready));
        this.metrics.countItems(used, verb, result.counts);
        return result;
      });
    const ids = idsOf(request);
    const events = streamEvents(input, run, {
      ids,
      lastLineOnly,
      limits: {
        entries,
        maxItemBytes,
        maxLineBytes: maxLineBytes(
          input.format,
          maxItemBytes,
          entries === 'discoveries' ? MAX_URL_PAYLOAD_BYTES : 0,
        ),
        cutTo: entries === 'items' ? undefined : maxItemBytes,
        ...streamLimits(this.config),
        wholeBlocks,
        graceOver: this.lifecycle.graceOver,
      },
      onProblem: (problem) => {
        contextOf(request.raw).trace?.fail(problem);
        this.reporter.report(problem, ids);
      },
    });
    const first = await events.next();
    if (!first.done && first.value.refusal) {
      // Releases the body, so that it is discarded with the answer.
      await events.return();
      throw first.value.refusal;
    }
    const lines = cutOffStalled(answerLines(first, events), idleMs, () => input.payload.destroy());
    return new StreamableFile(Readable.from(lines, { objectMode: false }), { type: 'application/x-ndjson' });
  }
}

/** The filter of a request that runs a batch, and the prefix of its caller. */
function usedBy({ params, raw }: Request, { entries }: BatchConfig): Used {
  const { name } = params as { name: string };
  return {
    kind: entries === 'items' ? 'filter' : 'visited-set',
    name,
    prefix: contextOf(raw).principal?.prefix ?? '',
  };
}

/**
 * True if the query asks for only the last line of a stream's answer (`?results=none`). This is for clients that send
 * the whole body before they read. Throws VALIDATION_FAILED.
 */
function isLastLineOnly(query: unknown, options: readonly string[] = []): boolean {
  const { results } = jsonObject(query, new Set(['results', ...options]));
  if (results === undefined || results === 'none') return results === 'none';
  throw invalid('#/results', `results must be "none" or absent, not ${show(results)}`);
}
