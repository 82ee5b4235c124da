export const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

/** Where traces go, and which. */
export interface TracingSettings {
  readonly url: string;
  /** May contain credentials. */
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly compression: 'none' | 'gzip';
  readonly tls: { readonly ca?: string; readonly cert?: string; readonly key?: string };
  readonly sampler: (typeof SAMPLERS)[number];
  /** Share of traces, for the samplers with a ratio. */
  readonly ratio: number;
  readonly serviceName: string;
  /** Attributes of the service. */
  readonly resource: Readonly<Record<string, string>>;
  readonly queueSpans: number;
  readonly delayMs: number;
}
