import { parseArgs } from 'node:util';
import { normalUrl } from './articles.js';

export const USAGE = `npm start -- [options]

  --unseen URL        URL of Unseen (http://127.0.0.1:3000); UNSEEN_API_KEY is the API key
  --set NAME          the visited set, created if it does not exist (articles)
  --capacity N        capacity of a new set; it grows when full (100000)
  --max-age SECONDS   age of a new set: an article is collected again after this time (never)
  --source URL        a page that links to articles; may be repeated
  --every SECONDS     pause between checks of the sources (300)
  --live SECONDS      how long an article is live if its upload does not say (7776000, 90 days)
  --concurrency N     concurrent fetches (2)
  --nightly HH:MM     local time of the nightly sync (03:00)
  --patience SECONDS  how long an upload waits for Unseen before the CMS reports it as pending (5)
  --data FOLDER       folder of the database (./data)
  --port N            port of the CMS on 127.0.0.1 (4000; 0: any free port)`;

/** The command line's options. */
export interface Options {
  readonly unseen: string;
  readonly set: string;
  readonly capacity: number;
  readonly maxAgeSeconds: number | undefined;
  readonly sources: readonly string[];
  readonly everyMs: number;
  readonly liveMs: number;
  readonly concurrency: number;
  /** Minutes after midnight. */
  readonly nightlyMinute: number;
  readonly patienceMs: number;
  readonly dataFolder: string;
  readonly port: number;
}

/** Reads the options. Throws an Error that names the invalid one. */
export function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      unseen: { type: 'string', default: 'http://127.0.0.1:3000' },
      set: { type: 'string', default: 'articles' },
      capacity: { type: 'string', default: '100000' },
      'max-age': { type: 'string' },
      source: { type: 'string', multiple: true, default: [] },
      every: { type: 'string', default: '300' },
      live: { type: 'string', default: '7776000' },
      concurrency: { type: 'string', default: '2' },
      nightly: { type: 'string', default: '03:00' },
      patience: { type: 'string', default: '5' },
      data: { type: 'string', default: './data' },
      port: { type: 'string', default: '4000' },
    },
  });
  const maxAge = values['max-age'];
  return {
    unseen: urlOf('unseen', values.unseen),
    set: values.set,
    capacity: whole('capacity', values.capacity, 1, 1e10),
    maxAgeSeconds: maxAge === undefined ? undefined : whole('max-age', maxAge, 10, 315_360_000),
    sources: values.source.map((source) => urlOf('source', source)),
    everyMs: 1_000 * whole('every', values.every, 1, 86_400),
    liveMs: 1_000 * whole('live', values.live, 1, 3_153_600_000),
    concurrency: whole('concurrency', values.concurrency, 1, 100),
    nightlyMinute: minuteOf(values.nightly),
    patienceMs: 1_000 * whole('patience', values.patience, 0, 50),
    dataFolder: values.data,
    port: whole('port', values.port, 0, 65_535),
  };
}

function whole(name: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= least && value <= most) return value;
  throw new Error(`--${name} must be a whole number from ${least} to ${most}, not "${text}"`);
}

function urlOf(name: string, text: string): string {
  const url = normalUrl(text);
  if (url === undefined) throw new Error(`--${name} must be an http or https URL, not "${text}"`);
  return url;
}

function minuteOf(text: string): number {
  const [, hour, minute] = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(text) ?? [];
  if (hour === undefined) throw new Error(`--nightly must be a time such as 03:00, not "${text}"`);
  return 60 * Number(hour) + Number(minute);
}
