import { parseArgs } from 'node:util';

export const USAGE = `npm start -- [options] SERVICE SET START...

  SERVICE  URL of Unseen, such as http://127.0.0.1:3000 (UNSEEN_API_KEY: its API key)
  SET      the visited set; workers on one set share its queue
  START    one or more URLs where the crawl starts

  --concurrency N     concurrent fetches (8)
  --delay SECONDS     pause between two requests to a host (1), or longer if robots.txt says so; for a new set
  --user-agent TEXT   name of the crawler; robots.txt uses the part before "/" (unseen-worker/1.0)
  --host HOST         also follow links to this host; may be repeated (the hosts of START)
  --any-host          follow links to all hosts
  --max-depth N       follow links at most N steps from START (no limit)
  --max-bytes N       maximum page size; the rest is ignored (2000000)
  --timeout SECONDS   time limit for a fetch (30)
  --lease SECONDS     time until the URLs of a killed worker return to the queue (60)
  --attempts N        maximum attempts per URL (8)
  --retry SECONDS     delay before a failed URL is retried, doubled each time (10)
  --forever           wait for more URLs when the queue is empty`;

/** The command line's options. */
export interface Options {
  readonly service: string;
  readonly set: string;
  readonly starts: readonly string[];
  readonly concurrency: number;
  readonly delaySeconds: number;
  readonly userAgent: string;
  /** Hosts that links may lead to, as `host` or `host:port`. If undefined, all hosts. */
  readonly hosts: ReadonlySet<string> | undefined;
  readonly maxDepth: number;
  readonly maxBytes: number;
  readonly timeoutMs: number;
  readonly leaseSeconds: number;
  readonly attempts: number;
  readonly retrySeconds: number;
  readonly forever: boolean;
}

/** Reads the options. Throws an Error that names the invalid one. */
export function readOptions(args: readonly string[]): Options {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      concurrency: { type: 'string', default: '8' },
      delay: { type: 'string', default: '1' },
      'user-agent': { type: 'string', default: 'unseen-worker/1.0' },
      host: { type: 'string', multiple: true, default: [] },
      'any-host': { type: 'boolean', default: false },
      'max-depth': { type: 'string' },
      'max-bytes': { type: 'string', default: '2000000' },
      timeout: { type: 'string', default: '30' },
      lease: { type: 'string', default: '60' },
      attempts: { type: 'string', default: '8' },
      retry: { type: 'string', default: '10' },
      forever: { type: 'boolean', default: false },
    },
  });
  const [service, set, ...starts] = positionals;
  if (service === undefined || set === undefined || starts.length === 0)
    throw new Error('SERVICE, SET and START are required');
  const hosts = new Set([...starts.map(hostOf), ...values.host.map((host) => hostOf(`http://${host}`))]);
  const concurrency = whole('concurrency', values.concurrency, 1, 250);
  const anyHost = values['any-host'];
  return {
    service,
    set,
    starts,
    concurrency,
    delaySeconds: whole('delay', values.delay, 0, 3_600),
    userAgent: values['user-agent'],
    hosts: anyHost ? undefined : hosts,
    maxDepth:
      values['max-depth'] === undefined ? Infinity : whole('max-depth', values['max-depth'], 0, 1_000_000),
    maxBytes: whole('max-bytes', values['max-bytes'], 1, 100_000_000),
    timeoutMs: seconds('timeout', values.timeout, 0.1, 3_600) * 1_000,
    leaseSeconds: whole('lease', values.lease, 3, 86_400),
    attempts: whole('attempts', values.attempts, 1, 1_000_000),
    retrySeconds: seconds('retry', values.retry, 0, 3_600),
    forever: values.forever,
  };
}

function hostOf(url: string): string {
  const { protocol, host } = URL.canParse(url) ? new URL(url) : { protocol: '', host: '' };
  if (/^https?:$/.test(protocol)) return host;
  throw new Error(`${JSON.stringify(url)} is not an http or https URL`);
}

function whole(name: string, text: string, least: number, most: number): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : NaN;
  if (value >= least && value <= most) return value;
  throw new Error(`--${name} must be a whole number from ${least} to ${most}, not ${JSON.stringify(text)}`);
}

function seconds(name: string, text: string, least: number, most: number): number {
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : NaN;
  if (value >= least && value <= most) return value;
  throw new Error(`--${name} must be seconds from ${least} to ${most}, not ${JSON.stringify(text)}`);
}
