import { Readable } from 'node:stream';
import { Inject, Injectable, StreamableFile } from '@nestjs/common';
import {
  encodeExportFile,
  ExportFileError,
  ExportFileReader,
  exportHeader,
  type ExportHeader,
  type Filter,
  type FilterKind,
  type FilterSpec,
  type Operation,
} from '#store';
import type { Principal } from '../request/principal.js';
import { RequestAuthenticator } from '../auth/request-authenticator.js';
import { Config } from '../config/config.js';
import { ProblemReporter } from '../http/problem-reporter.js';
import { ProblemError } from '../errors/problem.js';
import { turn } from '../event-loop/turn.js';
import { toProblem } from '../http/to-problem.js';
import { FilterLifecycle, type Described } from '../filters/filter-lifecycle.js';
import { OpenFilters } from '../filters/open-filters.js';
import { EXPORT_TYPES } from '../http/body.js';
import { contextOf, idsOf } from '../request/context.js';
import type { Request } from '../request/request.js';
import { cutOffStalled } from '../http/stalled-reader.js';
import { StreamedBody, streamLimits } from '../http/streamed-body.js';
import { blockOperation } from '../idempotency/operations.js';
import { Store } from '../store/store.token.js';
import { checkedQueue } from './checked-queue.js';
import { importSpec } from './import-spec.js';

/** Exports filters of either kind as files, and imports them. */
@Injectable()
export class TransferService {
  constructor(
    @Inject(Store) private readonly store: Store,
    @Inject(Config) private readonly config: Config,
    private readonly filterLifecycle: FilterLifecycle,
    private readonly filters: OpenFilters,
    private readonly reporter: ProblemReporter,
    private readonly authenticator: RequestAuthenticator,
  ) {}

  /**
   * The filter's export as the answer's body. A failure before the first part is an ordinary error answer. A later
   * failure closes the connection, so that an incomplete export doesn't look complete.
   */
  async export(name: string, kind: FilterKind, request: Request): Promise<StreamableFile> {
    const bytes = await this.filters.withFilter(name, kind, (filter) => this.begin(filter, request));
    const whole = this.reported(bytes, request);
    const taken = cutOffStalled(whole, this.config.streamIdleMs, () => request.raw.destroy());
    return new StreamableFile(Readable.from(taken, { objectMode: false }), {
      type: EXPORT_TYPES[0],
      disposition: `attachment; filename="${fileNameOf(name)}"`,
    });
  }

  /**
   * Creates a filter from an export, under its old name or another. Nothing is visible until the whole file has been
   * read.
   */
  async import(
    kind: FilterKind,
    request: Request,
    name: string | undefined,
    operation: Operation,
    caller: Principal,
  ): Promise<Described> {
    const { body } = request;
    const context = contextOf(request.raw);
    context.auditTarget = name;
    if (!(body instanceof StreamedBody)) {
      throw new ProblemError('UNSUPPORTED_MEDIA_TYPE', `send an export as ${EXPORT_TYPES.join(' or ')}`);
    }
    const chunks = body.chunks(streamLimits(this.config));
    const file = new ExportFileReader(chunks, () => request.server.clock.now());
    try {
      const header = await file.header();
      context.auditTarget = name ?? header.name;
      const spec = importSpec(header, kind, name);
      const identity = identified(request, operation, header, spec);
      const parts = this.confirmed(file.parts(header), request);
      const checked = kind === 'visited-set' ? checkedQueue(parts, spec, this.config.maxItemBytes) : parts;
      const described = await this.filterLifecycle.import(spec, checked, identity, caller);
      // A repeated import doesn't need the file, but its sender may read the answer only after it has sent everything.
      await file.drain();
      return described;
    } catch (error) {
      if (!(error instanceof ExportFileError)) throw error;
      throw new ProblemError('VALIDATION_FAILED', error.message, { cause: error });
    } finally {
      await file.close();
    }
  }

  /** Logs a failure after the answer has begun, when the caller can no longer get an error answer. */
  private async *reported<T>(parts: AsyncIterable<T>, request: Request): AsyncGenerator<T, void, undefined> {
    try {
      yield* parts;
    } catch (error) {
      const problem = toProblem(error);
      contextOf(request.raw).trace?.fail(problem);
      this.reporter.report(problem, idsOf(request));
      throw error;
    }
  }

  /** Passes parts on while the request's credentials are accepted. The request may outlive them. */
  private async *confirmed<T>(parts: AsyncIterable<T>, request: Request): AsyncGenerator<T, void, undefined> {
    for await (const part of parts) {
      await this.authenticator.confirm(request);
      if (turn.isSpent()) await turn.next();
      yield part;
    }
  }

  private async begin(
    filter: Filter,
    request: Request,
  ): Promise<AsyncGenerator<Uint8Array, void, undefined>> {
    const parts = this.confirmed(this.store.transfer.export(filter), request);
    const first = await parts.next();
    return encodeExportFile(
      exportHeader(filter),
      (async function* () {
        if (!first.done) yield first.value;
        yield* parts;
      })(),
    );
  }
}

/**
 * Identifies an import by its file's id, because the file is too long to hash in advance. Its own checksums protect its
 * contents.
 */
function identified(
  request: Request,
  operation: Operation,
  { id }: ExportHeader,
  { name }: FilterSpec,
): Operation {
  return blockOperation(request, operation, 1, [id, name]);
}

/** Some file systems don't allow ":" in names. */
function fileNameOf(name: string): string {
  return `${name.replaceAll(':', '_')}.unseen`;
}
