import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { until } from './until.js';

/** A span as the collector got it. */
export interface CollectedSpan {
  readonly traceId: string;
  readonly id: string;
  /** Empty for a span without a parent. */
  readonly parentId: string;
  readonly traceState: string;
  readonly name: string;
  readonly kind: 'internal' | 'server' | 'client';
  /** In ns since the epoch. */
  readonly began: bigint;
  readonly ended: bigint;
  readonly attributes: Readonly<Record<string, string | number>>;
  readonly isFailed: boolean;
}

const KINDS = ['unspecified', 'internal', 'server', 'client'];
const FAILED = 2n;

type Answer = (response: ServerResponse, message: number) => void;

/** A collector of OTLP over HTTP, on loopback. It has its own decoder, so that it doesn't trust OpenTelemetry's. */
export class Collector {
  readonly spans: CollectedSpan[] = [];
  readonly requests: IncomingMessage[] = [];
  /** The messages as they came. */
  readonly bodies: Buffer[] = [];
  /** Attributes of the service in the last message. */
  resource: Readonly<Record<string, string | number>> = {};
  /** Answers a message. */
  answer: Answer = (response) => response.end();
  private readonly server = createServer((request, response) => void this.take(request, response));

  static async start(): Promise<Collector> {
    const collector = new Collector();
    collector.server.listen(0, '127.0.0.1');
    await once(collector.server, 'listening');
    return collector;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Settings of a service that sends its traces here at once. */
  get settings(): Record<string, string> {
    return { OTEL_EXPORTER_OTLP_ENDPOINT: this.url, OTEL_BSP_SCHEDULE_DELAY: '0' };
  }

  /** The spans of a trace, once they have arrived. The service sends all of a request's spans in one message. */
  async trace(traceId: string): Promise<CollectedSpan[]> {
    const found = (): CollectedSpan[] => this.spans.filter((span) => span.traceId === traceId);
    await until(`the trace ${traceId} arrives`, () => Promise.resolve(found().length > 0));
    return found();
  }

  /** The first span with this name that arrives. */
  async span(name: string): Promise<CollectedSpan> {
    const found = (): CollectedSpan | undefined => this.spans.find((span) => span.name === name);
    await until(`the span ${name} arrives`, () => Promise.resolve(found() !== undefined));
    return found()!;
  }

  stop(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  private async take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const sent = await buffer(request);
    const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent;
    this.requests.push(request);
    this.bodies.push(body);
    for (const part of messages(body, 1)) {
      this.resource = attributesOf(messages(messages(part, 1)[0]!, 1));
      for (const scope of messages(part, 2)) this.spans.push(...messages(scope, 2).map(spanOf));
    }
    this.answer(response, this.bodies.length);
  }
}

function spanOf(bytes: Buffer): CollectedSpan {
  const fields = new Map(fieldsOf(bytes));
  const hex = (field: number): string => (fields.get(field) as Buffer | undefined)?.toString('hex') ?? '';
  const status = new Map(fieldsOf(fields.get(15) as Buffer));
  return {
    traceId: hex(1),
    id: hex(2),
    traceState: (fields.get(3) ?? '').toString(),
    parentId: hex(4),
    name: (fields.get(5) as Buffer).toString(),
    kind: KINDS[Number(fields.get(6))] as CollectedSpan['kind'],
    began: fields.get(7) as bigint,
    ended: fields.get(8) as bigint,
    attributes: attributesOf(messages(bytes, 9)),
    isFailed: status.get(3) === FAILED,
  };
}

function attributesOf(pairs: readonly Buffer[]): Record<string, string | number> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const [value] = fieldsOf(messages(pair, 2)[0]!);
      const text = value?.[1] ?? '';
      return [messages(pair, 1)[0]!.toString(), typeof text === 'bigint' ? Number(text) : text.toString()];
    }),
  );
}

/** The values of a repeated field. */
const messages = (bytes: Buffer, field: number): Buffer[] =>
  fieldsOf(bytes).flatMap(([number, value]) => (number === field ? [value as Buffer] : []));

/** The fields of a protobuf message. */
function fieldsOf(bytes: Buffer): [number: number, value: Buffer | bigint][] {
  const fields: [number, Buffer | bigint][] = [];
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++]!;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const take = (length: number): Buffer => bytes.subarray(at, (at += length));
  while (at < bytes.length) {
    const tag = Number(varint());
    const type = tag & 7;
    let value: Buffer | bigint;
    if (type === 0) value = varint();
    else if (type === 1) value = take(8).readBigUInt64LE();
    else if (type === 5) value = BigInt(take(4).readUInt32LE());
    else value = take(Number(varint()));
    fields.push([tag >> 3, value]);
  }
  return fields;
}
