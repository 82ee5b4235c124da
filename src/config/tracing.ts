import { show } from '../errors/show.js';
import { SAMPLERS, type TracingSettings } from '../tracing/settings.js';
import { ConfigError, type SettingReader } from './reader.js';

const ENDPOINT = 'OTEL_EXPORTER_OTLP_ENDPOINT';
const TRACES_ENDPOINT = 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT';

/** A name and a value, with percent escapes. */
const PAIR = /^([^=]+)=(.*)$/;
/** Header names and values of RFC 9110, in ASCII. */
const HEADER_NAME = /^[!#$%&'*+.^_`|~\w-]+$/;
const HEADER_VALUE = /^[\t\x20-\x7e]*$/;

/**
 * The standard variables of OpenTelemetry. Undefined if no traces are sent. Then the other variables may have any
 * values, because operators set them for all programs of a machine. Throws ConfigError: OpenTelemetry's own readers
 * ignore an invalid value.
 */
export function tracingSettings(read: SettingReader): TracingSettings | undefined {
  const isOn = [ENDPOINT, TRACES_ENDPOINT].some((name) => read.text(name, undefined) !== undefined);
  if (!isOn || read.oneOf('OTEL_SDK_DISABLED', ['true', 'false'], 'false') === 'true') return undefined;
  if (read.oneOf('OTEL_TRACES_EXPORTER', ['otlp', 'none'], 'otlp') === 'none') return undefined;
  read.oneOf('OTEL_EXPORTER_OTLP_PROTOCOL', ['http/protobuf'], 'http/protobuf');
  const { 'service.name': named = 'unseen', ...resource } = resourceOf(read);
  return {
    url: endpoint(read),
    headers: {
      ...headersOf(read, 'OTEL_EXPORTER_OTLP_HEADERS'),
      ...headersOf(read, 'OTEL_EXPORTER_OTLP_TRACES_HEADERS'),
    },
    timeoutMs: read.whole('OTEL_EXPORTER_OTLP_TIMEOUT', 10_000, 1, 600_000),
    compression: read.oneOf('OTEL_EXPORTER_OTLP_COMPRESSION', ['none', 'gzip'], 'none'),
    tls: tlsOf(read),
    ...samplerOf(read),
    serviceName: read.text('OTEL_SERVICE_NAME', named),
    resource,
    queueSpans: read.whole('OTEL_BSP_MAX_QUEUE_SIZE', 2_048, 512, 1_000_000),
    delayMs: read.whole('OTEL_BSP_SCHEDULE_DELAY', 5_000, 0, 600_000),
  };
}

function samplerOf(read: SettingReader): Pick<TracingSettings, 'sampler' | 'ratio'> {
  const sampler = read.oneOf('OTEL_TRACES_SAMPLER', SAMPLERS, 'parentbased_always_on');
  // With a share of 0.01 and the default sampler, the service would send all traces.
  if (!sampler.endsWith('traceidratio')) {
    read.refuseWithout('OTEL_TRACES_SAMPLER_ARG', 'OTEL_TRACES_SAMPLER=[parentbased_]traceidratio', '1');
  }
  return { sampler, ratio: read.share('OTEL_TRACES_SAMPLER_ARG', 1) };
}

/** The URL that gets the traces. The path of a general endpoint has no signal yet. */
function endpoint(read: SettingReader): string {
  const general = httpUrl(read, ENDPOINT).replace(/\/$/, '');
  return httpUrl(read, TRACES_ENDPOINT) || `${general}/v1/traces`;
}

/** Empty if the setting is absent. The error doesn't show the value, because it may contain a password. */
function httpUrl(read: SettingReader, name: string): string {
  const value = read.text(name, '');
  if (value === '' || (/^https?:\/\/[^?#]+$/i.test(value) && isPlain(value))) return value;
  throw new ConfigError(
    `${name} is not a URL for OTLP over HTTP (its value is not shown); it must be http://host[:port][/path] or ` +
      'https://…, without user, query and fragment',
  );
}

function isPlain(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { username, password } = new URL(text);
  return username === '' && password === '';
}

function headersOf(read: SettingReader, name: string): Record<string, string> {
  const headers = pairs(read.text(name, ''));
  const isSound = ([key, value]: [string, string]): boolean =>
    HEADER_NAME.test(key) && HEADER_VALUE.test(value);
  if (headers && Object.entries(headers).every(isSound)) return headers;
  throw new ConfigError(
    `${name} is invalid (its value is not shown); it must be name=value,name=value,… with percent escapes`,
  );
}

function resourceOf(read: SettingReader): Record<string, string> {
  const text = read.text('OTEL_RESOURCE_ATTRIBUTES', '');
  const attributes = pairs(text);
  if (attributes) return attributes;
  throw new ConfigError(
    `OTEL_RESOURCE_ATTRIBUTES is ${show(text)}; it must be key=value,key=value,… with percent escapes`,
  );
}

/** A list in the format of W3C Baggage, as OpenTelemetry prescribes it. Undefined if it has another format. */
function pairs(list: string): Record<string, string> | undefined {
  const members = list.split(',').map((member) => member.trim());
  const found: Record<string, string> = {};
  for (const member of members.filter((text) => text !== '')) {
    const [, key, value] = PAIR.exec(member) ?? [];
    if (key === undefined || value === undefined) return undefined;
    try {
      found[key.trim()] = decodeURIComponent(value.trim());
    } catch {
      return undefined;
    }
  }
  return found;
}

function tlsOf(read: SettingReader): TracingSettings['tls'] {
  const ca = read.pemFile('OTEL_EXPORTER_OTLP_CERTIFICATE');
  const cert = read.pemFile('OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE');
  const key = read.pemFile('OTEL_EXPORTER_OTLP_CLIENT_KEY');
  if ((cert === undefined) !== (key === undefined)) {
    throw new ConfigError(
      'set both OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and OTEL_EXPORTER_OTLP_CLIENT_KEY, or neither',
    );
  }
  return { ...(ca !== undefined && { ca }), ...(cert !== undefined && key !== undefined && { cert, key }) };
}
