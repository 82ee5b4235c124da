import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { addCall, inSpan, MOST_SPANS, outsideTraces, type Trace } from './trace.js';
import { Tracing, type Telemetry } from './tracing.js';

/** Longer than any test. */
const LONG_MS = 3_600_000;

/** A message to the collector. */
interface Message {
  readonly traces: readonly Trace[];
  readonly taken: () => void;
  readonly refused: (error: Error) => void;
}

describe('traces', () => {
  let messages: Message[];
  let failures: unknown[];
  let tracing: Tracing;
  let isSampled: boolean;
  let isAtOnce: boolean;

  beforeEach(() => {
    messages = [];
    failures = [];
    isSampled = true;
    isAtOnce = false;
    const telemetry: Telemetry = {
      origin: () => ({ traceId: 't', parentId: undefined, traceState: undefined, isSampled }),
      send: (traces) =>
        new Promise((taken, refused) => {
          messages.push({ traces, taken, refused });
          if (isAtOnce) taken();
        }),
      giveUp: () => undefined,
    };
    const limits = { queueSpans: 2_000, delayMs: LONG_MS, timeoutMs: LONG_MS };
    tracing = new Tracing(telemetry, limits, (error) => failures.push(error));
  });

  afterEach(() => {
    // Ends the timers that wait for the collector.
    isAtOnce = true;
    for (const { taken } of messages) taken();
  });

  /** Requests with two spans each. */
  function requests(count: number): void {
    for (let n = 0; n < count; n++) {
      const trace = tracing.begin('GET', 0);
      trace.admitted();
      trace.end({});
    }
  }
  const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  it('are sent once they fill a message, one message at a time', async () => {
    requests(255);
    expect(messages).toEqual([]);
    requests(600);
    expect(messages.map(({ traces }) => traces.length)).toEqual([256]);
    messages[0]!.taken();
    await nextTurn();
    expect(messages.map(({ traces }) => traces.length)).toEqual([256, 256]);
    expect(tracing.spans).toMatchObject({ sent: 512, queue_full: 0 });
  });

  it('are dropped whole, and counted, if the queue is full', () => {
    requests(256 + 1_000);
    expect(tracing.spans.queue_full).toBe(0);
    requests(3);
    expect(tracing.spans.queue_full).toBe(6);
  });

  it('are counted if the collector refuses them, and later ones are sent', async () => {
    requests(256);
    messages[0]!.refused(new Error('no'));
    await nextTurn();
    expect([tracing.spans.failed, failures]).toEqual([512, [new Error('no')]]);
    requests(256);
    messages[1]!.taken();
    await nextTurn();
    expect(tracing.spans.sent).toBe(512);
  });

  it('are sent by a stop, which gives up after its time', async () => {
    requests(1);
    const flushed = tracing.stop(LONG_MS);
    messages[0]!.taken();
    await flushed;
    expect(tracing.spans).toMatchObject({ sent: 2, failed: 0 });
    requests(300);
    await tracing.stop(1);
    expect(tracing.spans).toMatchObject({ sent: 2, failed: 88 });
  });

  it('that are not sampled have no spans', async () => {
    isSampled = false;
    const trace = tracing.begin('GET', 0);
    trace.admitted();
    expect(await trace.run(() => inSpan('identity', () => Promise.resolve(1)))).toBe(1);
    trace.end({});
    await tracing.stop(LONG_MS);
    expect([trace.traceId, trace.spans, messages]).toEqual(['t', [], []]);
  });

  it('have no spans for work that outlives its request', async () => {
    const trace = tracing.begin('GET', 0);
    let finish = (): void => undefined;
    const work = trace.run(() => inSpan('late', () => new Promise<void>((resolve) => (finish = resolve))));
    trace.end({});
    const { ended } = trace.spans[1]!;
    finish();
    await work;
    await trace.run(() => inSpan('later', () => Promise.resolve()));
    expect(trace.spans.map(({ name }) => name)).toEqual(['GET', 'late']);
    expect(trace.spans[1]!.ended).toBe(ended);
    expect(ended).toBe(trace.spans[0]!.ended);
  });

  it('have no spans for work that outlives the call that began it', async () => {
    const trace = tracing.begin('GET', 0);
    let goOn = (): void => undefined;
    let background = Promise.resolve(0);
    const paused = new Promise<void>((resolve) => (goOn = resolve));
    const call = async (): Promise<void> => {
      addCall('redis add', 0, {});
      background = paused.then(() => {
        addCall('redis sweep', 0, {});
        return inSpan('store sweep', () => Promise.resolve(1));
      });
    };
    await trace.run(() => inSpan('store add', call));
    goOn();
    expect(await background).toBe(1);
    trace.end({});
    expect(trace.spans.map(({ name }) => name)).toEqual(['GET', 'store add', 'redis add']);
  });

  it('have no spans for work that requests share', async () => {
    const trace = tracing.begin('GET', 0);
    const watch = (): Promise<void> => inSpan('store watch', async () => addCall('redis await', 0, {}));
    await trace.run(() => outsideTraces(watch));
    await trace.run(() => inSpan('store lease', () => outsideTraces(watch)));
    trace.end({});
    expect(trace.spans.map(({ name }) => name)).toEqual(['GET', 'store lease']);
  });

  it('have a bounded number of spans, and run the other work too', async () => {
    const trace = tracing.begin('GET', 0);
    let runs = 0;
    for (let n = 0; n < MOST_SPANS + 9; n++) {
      await trace.run(() => inSpan('work', async () => ++runs));
    }
    trace.end({});
    expect([runs, trace.spans.length, trace.leftOut]).toEqual([MOST_SPANS + 9, MOST_SPANS, 10]);
    expect(tracing.spans.too_many).toBe(10);
  });

  it('mark failed work by the code of its error, without its message', async () => {
    const trace = tracing.begin('GET', 0);
    const error = Object.assign(new Error('secret'), { code: 'STORE_FULL' });
    await expect(trace.run(() => inSpan('work', () => Promise.reject(error)))).rejects.toBe(error);
    await expect(
      trace.run(() => inSpan('work', () => Promise.reject(new Error('secret')))),
    ).rejects.toThrow();
    expect(trace.spans.slice(1)).toEqual([
      expect.objectContaining({ isFailed: true, attributes: { 'error.type': 'STORE_FULL' } }),
      expect.objectContaining({ isFailed: true, attributes: { 'error.type': 'INTERNAL_ERROR' } }),
    ]);
  });
});
