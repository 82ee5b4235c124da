import type { IncomingHttpHeaders } from 'node:http';
import { Trace, type Origin } from './trace.js';

/** Spans in one message to the collector. Encoding them takes about a turn of the event loop. */
const SPANS_A_MESSAGE = 512;
/** A message that takes longer than its timeout by this much has failed, even if the collector still sends bytes. */
const LATE_MS = 1_000;

/** `queue_full`: the queue had no room. `too_many`: the request had more than MOST_SPANS. `failed`: see `Telemetry`. */
export const SPAN_OUTCOMES = ['sent', 'queue_full', 'too_many', 'failed'] as const;
export type SpanOutcome = (typeof SPAN_OUTCOMES)[number];

/** OpenTelemetry's part, which is loaded only if traces are sent. */
export interface Telemetry {
  /** Continues the trace of a caller, or begins one. */
  origin(headers: IncomingHttpHeaders): Origin;
  /** Rejects if the collector has not taken the spans. */
  send(traces: readonly Trace[]): Promise<void>;
  /**
   * Ends the message that is being sent. The exporter's timeout covers neither an endless connect nor an endless
   * answer, and after 30 such messages it would send no more.
   */
  giveUp(): void;
}

export interface TracingLimits {
  /** Spans that wait for the collector. */
  readonly queueSpans: number;
  /** How long spans wait for others, to share a message. */
  readonly delayMs: number;
  /** How long the collector may take for a message. */
  readonly timeoutMs: number;
}

/**
 * Traces of requests. A bounded queue keeps the spans of finished requests until the collector takes them, one message
 * at a time. Requests never wait for it: without room, or without a collector, spans are lost and counted.
 */
export class Tracing {
  /** Number of spans by what became of them. */
  readonly spans: Record<SpanOutcome, number> = { sent: 0, queue_full: 0, too_many: 0, failed: 0 };
  private readonly queue: Trace[] = [];
  private queued = 0;
  private timer: NodeJS.Timeout | undefined;
  private sending: Promise<void> | undefined;
  private isStopping = false;

  constructor(
    private readonly telemetry: Telemetry,
    private readonly limits: TracingLimits,
    /** Called for each message that the collector has not taken. */
    private readonly onFailure: (error: unknown) => void,
  ) {}

  /** Begins the trace of a request that arrived at `began`, in monotonic ms. */
  begin(name: string, began: number, headers: IncomingHttpHeaders = {}): Trace {
    return new Trace(this.telemetry.origin(headers), { name, began }, (trace) => this.keep(trace));
  }

  /** Sends the spans that wait. After `ms`, gives up those that the collector has not taken. */
  async stop(ms: number): Promise<void> {
    this.isStopping = true;
    if (await inTime(this.send(), ms)) return;
    this.spans.failed += this.queued;
    this.queue.length = this.queued = 0;
  }

  private keep(trace: Trace): void {
    const { queue, spans } = this;
    spans.too_many += trace.leftOut;
    const count = trace.spans.length;
    if (this.queued + count > this.limits.queueSpans) {
      spans.queue_full += count;
      return;
    }
    queue.push(trace);
    this.queued += count;
    this.sendSoon();
  }

  /** Sends the queue once it fills a message, or after the delay. */
  private sendSoon(): void {
    if (this.sending || this.queue.length === 0) return;
    if (this.queued >= SPANS_A_MESSAGE) void this.send();
    else this.timer ??= setTimeout(() => void this.send(), this.limits.delayMs).unref();
  }

  /** Sends a message, and more while the queue fills them, or until it is empty if the service stops. Never rejects. */
  private send(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    return (this.sending ??= this.sendMessages().finally(() => {
      this.sending = undefined;
      this.sendSoon();
    }));
  }

  private async sendMessages(): Promise<void> {
    let least = 1;
    while (this.queued >= least) {
      const [traces, count] = this.take();
      try {
        const inTimeout = await inTime(this.telemetry.send(traces), this.limits.timeoutMs + LATE_MS);
        if (!inTimeout) {
          this.telemetry.giveUp();
          throw new Error('the collector has not answered in time');
        }
        this.spans.sent += count;
      } catch (error) {
        this.spans.failed += count;
        this.onFailure(error);
      }
      least = this.isStopping ? 1 : SPANS_A_MESSAGE;
    }
  }

  /** Takes the traces of the next message from the queue. Returns their number of spans, too. */
  private take(): [traces: Trace[], spans: number] {
    let spans = 0;
    let traces = 0;
    while (traces < this.queue.length && spans < SPANS_A_MESSAGE) {
      spans += (this.queue[traces++] as Trace).spans.length;
    }
    this.queued -= spans;
    return [this.queue.splice(0, traces), spans];
  }
}

/** Whether work ends in time. Rejects as the work does. */
async function inTime(work: Promise<void>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  try {
    return await Promise.race([work.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}
