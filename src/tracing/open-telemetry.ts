import { randomUUID } from 'node:crypto';
import { Agent, type IncomingHttpHeaders } from 'node:http';
import { Agent as SecureAgent } from 'node:https';
import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace as spans,
  TraceFlags,
  type HrTime,
  type SpanContext,
  type TraceState as State,
} from '@opentelemetry/api';
import { ExportResultCode, parseTraceParent, TraceState } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes, type Resource } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  RandomIdGenerator,
  SamplingDecision,
  TraceIdRatioBasedSampler,
  type ReadableSpan,
  type Sampler,
} from '@opentelemetry/sdk-trace';
import { VERSION } from '../version.js';
import type { TracingSettings } from './settings.js';
import type { Origin, Trace } from './trace.js';
import type { Telemetry } from './tracing.js';

/** The W3C asks for at least this many characters. A caller could send 16 KiB, and each of its spans would have it. */
const MOST_STATE = 512;

const KINDS = { server: SpanKind.SERVER, internal: SpanKind.INTERNAL, client: SpanKind.CLIENT };
const SCOPE = { name: 'unseen', version: VERSION };

/**
 * Samples traces and sends them as OTLP. This file is a bundle of its own. It must not import our other modules, except
 * for types: it would have copies of them.
 */
export function openTelemetry(settings: TracingSettings): Telemetry {
  const ids = new RandomIdGenerator();
  const sampler = samplerOf(settings);
  const { url, headers, timeoutMs: timeoutMillis, tls } = settings;
  const agent = /^https:/i.test(url)
    ? new SecureAgent({ keepAlive: true, ...tls })
    : new Agent({ keepAlive: true });
  const exporter = new OTLPTraceExporter({
    url,
    headers: { ...headers },
    timeoutMillis,
    // The types want an enum that the package doesn't export.
    compression: settings.compression as never,
    httpAgentOptions: () => agent,
  });
  const resource = resourceFromAttributes({
    'service.name': settings.serviceName,
    'service.version': VERSION,
    'service.instance.id': randomUUID(),
    ...settings.resource,
  });
  return {
    origin: (head) => originOf(head, ids, sampler),
    send: (traces) =>
      new Promise((resolve, reject) => {
        const all = traces.flatMap((trace) => readable(trace, ids, resource));
        exporter.export(all, ({ code, error }) => {
          if (code === ExportResultCode.SUCCESS) resolve();
          else reject(error ?? new Error('the collector has not taken the spans'));
        });
      }),
    giveUp: () => agent.destroy(),
  };
}

function samplerOf({ sampler, ratio }: TracingSettings): Sampler {
  const [, parentBased, kind] = /^(parentbased_)?(.+)$/.exec(sampler) ?? [];
  const root =
    kind === 'always_on'
      ? new AlwaysOnSampler()
      : kind === 'always_off'
        ? new AlwaysOffSampler()
        : new TraceIdRatioBasedSampler(ratio);
  return parentBased === undefined ? root : new ParentBasedSampler({ root });
}

function originOf(
  { traceparent, tracestate }: IncomingHttpHeaders,
  ids: RandomIdGenerator,
  sampler: Sampler,
): Origin {
  const parent = typeof traceparent === 'string' ? parseTraceParent(traceparent) : null;
  const context = parent ? spans.setSpanContext(ROOT_CONTEXT, { ...parent, isRemote: true }) : ROOT_CONTEXT;
  const traceId = parent?.traceId ?? ids.generateTraceId();
  const { decision } = sampler.shouldSample(context, traceId, '', SpanKind.SERVER, {}, []);
  const hasState = parent && typeof tracestate === 'string' && tracestate.length <= MOST_STATE;
  return {
    traceId,
    parentId: parent?.spanId,
    traceState: hasState ? tracestate : undefined,
    isSampled: decision === SamplingDecision.RECORD_AND_SAMPLED,
  };
}

/** A trace's spans, as the exporter reads them. */
function readable({ origin, spans }: Trace, ids: RandomIdGenerator, resource: Resource): ReadableSpan[] {
  const { traceId, parentId, traceState } = origin;
  const state: State | undefined = traceState === undefined ? undefined : new TraceState(traceState);
  const contextOf = (spanId: string, isRemote = false): SpanContext => ({
    ...{ traceId, spanId, isRemote, traceFlags: TraceFlags.SAMPLED },
    ...(state && { traceState: state }),
  });
  const contexts = spans.map(() => contextOf(ids.generateSpanId()));
  const caller = parentId === undefined ? undefined : contextOf(parentId, true);
  return spans.map((span, n) => ({
    name: span.name,
    kind: KINDS[span.kind],
    spanContext: () => contexts[n] as SpanContext,
    ...parentOf(span.parent === undefined ? caller : contexts[span.parent]),
    startTime: hrTime(span.began),
    endTime: hrTime(span.ended),
    duration: hrTime(span.ended - span.began),
    status: { code: span.isFailed ? SpanStatusCode.ERROR : SpanStatusCode.UNSET },
    attributes: span.attributes,
    ended: true,
    resource,
    instrumentationScope: SCOPE,
    links: [],
    events: [],
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  }));
}

const parentOf = (parentSpanContext: SpanContext | undefined): Pick<ReadableSpan, 'parentSpanContext'> =>
  parentSpanContext ? { parentSpanContext } : {};

/** Seconds and nanoseconds. */
function hrTime(ms: number): HrTime {
  const seconds = Math.floor(ms / 1_000);
  return [seconds, Math.round((ms - 1_000 * seconds) * 1_000_000)];
}
