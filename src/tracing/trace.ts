import { AsyncLocalStorage } from 'node:async_hooks';
import { SYSTEM_CLOCK } from '#store';

/** `server`: a request. `client`: a call to another process. */
export type SpanKind = 'server' | 'internal' | 'client';

export type Attributes = Readonly<Record<string, string | number>>;

/** A piece of a request's work. Its times are in ms since the epoch. */
export interface Span {
  readonly name: string;
  readonly kind: SpanKind;
  /** Index in its trace. Undefined for the request itself. */
  readonly parent: number | undefined;
  readonly began: number;
  ended: number;
  isFailed: boolean;
  attributes: Attributes;
}

/** Where a trace begins: in this process, or with the span of a caller. */
export interface Origin {
  readonly traceId: string;
  readonly parentId: string | undefined;
  readonly traceState: string | undefined;
  readonly isSampled: boolean;
}

/** Spans of one request. A stream runs for hours, and would otherwise fill the queue that all requests share. */
export const MOST_SPANS = 100;

/** The span whose work runs now. */
interface Scope {
  readonly trace: Trace;
  readonly parent: number;
}

/**
 * While it is in use, Node 20 watches every promise, which takes 6 µs of a small request. So only sampled requests use
 * it, and it is disabled while there are none.
 */
const scopes = new AsyncLocalStorage<Scope | undefined>();
/** Number of sampled requests that run. */
let running = 0;

/** The trace of one request, or of one batch of commands. If it isn't sampled, it has an id but no spans. */
export class Trace {
  /** The request itself comes first. */
  readonly spans: Span[] = [];
  /** Number of spans beyond MOST_SPANS. */
  leftOut = 0;
  private readonly toEpoch: number;
  private error: string | undefined;
  private isFault = false;
  private isOver = false;

  /** `began` and all other times that the trace gets are monotonic. */
  constructor(
    readonly origin: Origin,
    { name, began }: { readonly name: string; readonly began: number },
    private readonly onEnd: (trace: Trace) => void,
  ) {
    this.toEpoch = origin.isSampled ? SYSTEM_CLOCK.now() - SYSTEM_CLOCK.monotonic() : 0;
    if (!origin.isSampled) return;
    this.spans.push(this.spanOf(name, 'server', undefined, began));
    running++;
  }

  get isSampled(): boolean {
    return this.origin.isSampled;
  }

  get traceId(): string {
    return this.origin.traceId;
  }

  /** Runs `work` as a part of the trace. Its calls on the store become spans. */
  run<T>(work: () => T): T {
    return this.isSampled ? scopes.run({ trace: this, parent: 0 }, work) : work();
  }

  /** Ends the wait of the request before its work. */
  admitted(): void {
    const [request] = this.spans;
    if (request) this.add('admission wait', 'internal', 0, request.began - this.toEpoch);
  }

  /** The caller gets an error. The first one counts. Errors of callers, such as 429, don't mark the trace as failed. */
  fail({ code, httpStatus }: { readonly code: string; readonly httpStatus: number }): void {
    this.error ??= code;
    this.isFault ||= httpStatus >= 500;
  }

  /** Ends the trace. Later spans, such as those of work that outlives its request, don't count. */
  end(attributes: Attributes): void {
    if (this.isOver) return;
    this.isOver = true;
    const [request] = this.spans;
    if (!request) return;
    const { error, leftOut } = this;
    request.isFailed = this.isFault;
    request.attributes = {
      ...attributes,
      ...(error !== undefined && { 'error.type': error }),
      ...(leftOut > 0 && { 'unseen.spans_left_out': leftOut }),
    };
    const ended = this.now();
    for (const span of this.spans) if (Number.isNaN(span.ended)) span.ended = ended;
    if (--running === 0) scopes.disable();
    this.onEnd(this);
  }

  /** Runs `work` as a span below `parent`. Without room for another span, the spans of `work` go to `parent`. */
  async during<T>(name: string, parent: number, work: () => Promise<T>): Promise<T> {
    const index = this.add(name, 'internal', parent, SYSTEM_CLOCK.monotonic(), NaN);
    const span = index === undefined ? undefined : this.spans[index];
    try {
      return await (index === undefined ? work() : scopes.run({ trace: this, parent: index }, work));
    } catch (error) {
      if (span) this.blame(span, error);
      throw error;
    } finally {
      if (span && !this.isOver) span.ended = this.now();
    }
  }

  /**
   * Adds a span, which has ended unless `ended` is NaN. Returns its index, or undefined without room. Adds none if
   * `parent` has ended: a call may begin background work, which isn't part of it. A sent trace doesn't change.
   */
  add(
    name: string,
    kind: SpanKind,
    parent: number,
    began: number,
    ended = this.now(),
    attributes: Attributes = NONE,
  ): number | undefined {
    if (!Number.isNaN(this.spans[parent]?.ended)) return undefined;
    if (this.spans.length >= MOST_SPANS) {
      this.leftOut++;
      return undefined;
    }
    return this.spans.push({ ...this.spanOf(name, kind, parent, began), ended, attributes }) - 1;
  }

  /** Marks a span as failed. Messages stay out of traces, because they may contain items. */
  private blame(span: Span, error: unknown): void {
    if (this.isOver) return;
    span.isFailed = true;
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    span.attributes = { 'error.type': typeof code === 'string' ? code : 'INTERNAL_ERROR' };
  }

  private spanOf(name: string, kind: SpanKind, parent: number | undefined, began: number): Span {
    const { toEpoch } = this;
    return { name, kind, parent, began: began + toEpoch, ended: NaN, isFailed: false, attributes: NONE };
  }

  private now(): number {
    return SYSTEM_CLOCK.monotonic() + this.toEpoch;
  }
}

const NONE: Attributes = {};

/** Runs `work`, as a span if it belongs to a sampled request. */
export function inSpan<T>(name: string, work: () => Promise<T>): Promise<T> {
  const scope = scopes.getStore();
  return scope ? scope.trace.during(name, scope.parent, work) : work();
}

/** `work`, which stays a part of the request that runs now if another request's work calls it. */
export function keepingTrace<A extends unknown[], R>(work: (...args: A) => R): (...args: A) => R {
  const scope = scopes.getStore();
  return (...args) => (running === 0 ? work(...args) : scopes.run(scope, () => work(...args)));
}

/** Runs work that requests share, such as a watch. Its calls are not spans of the request that runs now. */
export function outsideTraces<R>(work: () => R): R {
  return running === 0 ? work() : scopes.run(undefined, work);
}

/** Adds a span for a call to another process that has taken `ms`, if it belongs to a sampled request. */
export function addCall(name: string, ms: number, attributes: Attributes): void {
  const scope = scopes.getStore();
  if (!scope) return;
  const { trace, parent } = scope;
  trace.add(name, 'client', parent, SYSTEM_CLOCK.monotonic() - ms, undefined, attributes);
}
