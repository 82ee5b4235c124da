import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { ConfigError, readConfig } from './config.js';

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };
const tracing = (env: Record<string, string>) => readConfig(env).tracing;

describe('the settings of traces', () => {
  it('have the defaults of OpenTelemetry', () => {
    expect(tracing(ENDPOINT)).toEqual({
      url: 'http://collector:4318/v1/traces',
      headers: {},
      timeoutMs: 10_000,
      compression: 'none',
      tls: {},
      sampler: 'parentbased_always_on',
      ratio: 1,
      serviceName: 'unseen',
      resource: {},
      queueSpans: 2_048,
      delayMs: 5_000,
    });
  });

  it.each<[string, Record<string, string>]>([
    ['without an endpoint', {}],
    ['if OpenTelemetry is disabled', { ...ENDPOINT, OTEL_SDK_DISABLED: 'true' }],
    ['if another signal has the endpoint', { ...ENDPOINT, OTEL_TRACES_EXPORTER: 'none' }],
  ])('send no traces %s, whatever the other settings are', (_, env) => {
    const others = { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc', OTEL_TRACES_SAMPLER: 'xray' };
    expect(tracing({ ...others, ...env })).toBeUndefined();
  });

  it.each([
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'https://host/otlp/' }, 'https://host/otlp/v1/traces'],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://host:1/in' }, 'http://host:1/in'],
    [{ ...ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://host:1/in' }, 'http://host:1/in'],
  ])('give the URL for traces: %j', (env, url) => {
    expect(tracing(env)).toMatchObject({ url });
  });

  it('read lists with percent escapes', () => {
    const headers = {
      OTEL_EXPORTER_OTLP_HEADERS: 'a=1, api-key=b%20c=,',
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'a=2',
    };
    expect(tracing({ ...ENDPOINT, ...headers })?.headers).toEqual({ a: '2', 'api-key': 'b c=' });
    const attributes = { OTEL_RESOURCE_ATTRIBUTES: 'service.name=one,team=a%2Cb' };
    expect(tracing({ ...ENDPOINT, ...attributes })).toMatchObject({
      serviceName: 'one',
      resource: { team: 'a,b' },
    });
    expect(tracing({ ...ENDPOINT, ...attributes, OTEL_SERVICE_NAME: 'two' })?.serviceName).toBe('two');
  });

  it('read certificates', () => {
    const folder = mkdtempSync(join(tmpdir(), 'unseen-pem-'));
    try {
      const path = join(folder, 'ca.pem');
      writeFileSync(path, '-----BEGIN CERTIFICATE-----');
      const ca = '-----BEGIN CERTIFICATE-----';
      expect(tracing({ ...ENDPOINT, OTEL_EXPORTER_OTLP_CERTIFICATE: path })?.tls).toEqual({ ca });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it.each<[Record<string, string>, RegExp]>([
    [
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317' },
      /OTEL_EXPORTER_OTLP_ENDPOINT is not a URL.*not shown/,
    ],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://me:secret@host' }, /without user/],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://host?key=secret' }, /TRACES_ENDPOINT is not a URL/],
    [{ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, /PROTOCOL is "grpc"; it must be one of http\/protobuf/],
    [{ OTEL_EXPORTER_OTLP_TIMEOUT: '0' }, /TIMEOUT is "0"; it must be a whole number from 1 to 600000/],
    [{ OTEL_EXPORTER_OTLP_COMPRESSION: 'br' }, /COMPRESSION is "br"; it must be one of none, gzip/],
    [
      { OTEL_EXPORTER_OTLP_CLIENT_KEY: '/missing.pem' },
      /CLIENT_KEY is "\/missing.pem", which cannot be read/,
    ],
    [{ OTEL_EXPORTER_OTLP_HEADERS: 'secret' }, /HEADERS is invalid \(its value is not shown\)/],
    [{ OTEL_EXPORTER_OTLP_HEADERS: 'a=secret%0d%0a' }, /HEADERS is invalid/],
    [{ OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'a=%' }, /TRACES_HEADERS is invalid/],
    [{ OTEL_RESOURCE_ATTRIBUTES: 'a' }, /OTEL_RESOURCE_ATTRIBUTES is "a"; it must be key=value/],
    [{ OTEL_SDK_DISABLED: '1' }, /OTEL_SDK_DISABLED is "1"; it must be one of true, false/],
    [{ OTEL_TRACES_EXPORTER: 'zipkin' }, /OTEL_TRACES_EXPORTER is "zipkin"; it must be one of otlp, none/],
    [{ OTEL_TRACES_SAMPLER: 'xray' }, /OTEL_TRACES_SAMPLER is "xray"; it must be one of always_on/],
    [
      { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '1.5' },
      /OTEL_TRACES_SAMPLER_ARG is "1.5"; it must be a number from 0 to 1/,
    ],
    [{ OTEL_TRACES_SAMPLER_ARG: '0.01' }, /OTEL_TRACES_SAMPLER_ARG is set, but has no effect without/],
    [{ OTEL_BSP_MAX_QUEUE_SIZE: '1' }, /OTEL_BSP_MAX_QUEUE_SIZE is "1"; it must be a whole number from 512/],
    [{ OTEL_BSP_SCHEDULE_DELAY: '-1' }, /OTEL_BSP_SCHEDULE_DELAY is "-1"; it must be a whole number from 0/],
  ])('are refused with a reason: %j', (env, message) => {
    const read = (): unknown => readConfig({ ...ENDPOINT, ...env });
    expect(read).toThrow(ConfigError);
    expect(read).toThrow(message);
    expect(read).not.toThrow(/secret/);
  });
});
