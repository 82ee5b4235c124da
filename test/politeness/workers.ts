import { resolve } from 'node:path';
import { UnseenClient, Worker } from '#client';
import { PYTHON_PROGRAM, startProgram, type Program, type Running } from '../examples/worker-programs.js';
import { FOLDER, scrapy } from '../scrapy/suites.js';

/** How many workers of each kind a crawl has. */
export interface Team {
  readonly typescript: number;
  readonly python: number;
  readonly scrapy: number;
}

/** A worker. `ended` rejects unless it has ended because the queue was empty. */
export interface Crawling {
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

interface Task {
  /** The user agent. */
  readonly agent: string;
  /** The service's URL. */
  readonly service: string;
  readonly set: string;
  readonly starts: readonly string[];
}

/**
 * Few, because Scrapy takes all URLs that it gets. If workers of the other two kinds hold some at the start, Scrapy
 * must still find hosts.
 */
const CONCURRENCY = 4;
/** Longer than any outage, so no lease ends while a worker fetches its page. */
const LEASE_SECONDS = 120;
/**
 * Calls and requests of pages may take this long. Otherwise, a slow machine would make workers give up, and Scrapy
 * would then fetch pages that the queue has not leased to it.
 */
const PATIENT_SECONDS = 3_600;

const KINDS: { readonly [Kind in keyof Team]: (task: Task) => Crawling } = {
  typescript: startTypeScript,
  python: startPython,
  scrapy: startScrapy,
};

/** Starts workers on a set, which take turns with the services. Their user agents begin with their kinds. */
export function startWorkers(
  team: Team,
  services: readonly string[],
  task: Pick<Task, 'set' | 'starts'>,
): Crawling[] {
  const kinds = (Object.keys(KINDS) as (keyof Team)[]).flatMap((kind) =>
    Array.from({ length: team[kind] }, () => kind),
  );
  return kinds.map((kind, n) => {
    const service = services[n % services.length] ?? '';
    return KINDS[kind]({ ...task, agent: `${kind}-${n}`, service });
  });
}

/** A worker from the client. */
function startTypeScript({ agent, service, set: name }: Task): Crawling {
  const options = { url: service, timeoutMs: PATIENT_SECONDS * 1_000, onRetry: () => undefined };
  const set = new UnseenClient(options).visitedSet(name);
  const errors: unknown[] = [];
  const worker = new Worker(
    set,
    async ({ url, signal }) => {
      const page = await fetch(url, { headers: { 'user-agent': agent }, signal });
      const links = [...(await page.text()).matchAll(/href="([^"]+)"/g)].map(([, link = '']) => link);
      await set.discover(links.map((link) => new URL(link, url).href));
    },
    {
      concurrency: CONCURRENCY,
      leaseSeconds: LEASE_SECONDS,
      untilEmpty: true,
      onError: (error, task) => task && errors.push(error),
    },
  );
  const run = async (): Promise<void> => {
    await worker.run();
    const [first] = errors;
    if (first !== undefined) throw new Error(`${agent} could not process a page`, { cause: first });
  };
  return { ended: run(), stop: () => worker.stop() };
}

/** The example worker in Python. */
function startPython({ agent, service, set, starts }: Task): Crawling {
  const options = {
    ...{ 'user-agent': agent, concurrency: CONCURRENCY },
    ...{ lease: LEASE_SECONDS, timeout: PATIENT_SECONDS },
  };
  const words = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const args = [...words, service, set, ...starts];
  return program(startProgram(PYTHON_PROGRAM, resolve('examples', 'worker'), args));
}

const SCRAPY: Program = {
  name: 'Scrapy',
  why: '',
  command: () => [scrapy?.python ?? '', '-B', '-c', RUN],
};
const RUN = 'import json, sys; from tests.crawl import run; run(*map(json.loads, sys.argv[1:]))';

/** A Scrapy crawl with the spider from the tests of scrapy-unseen. */
function startScrapy({ agent, service, set, starts }: Task): Crawling {
  const settings = {
    ...{ USER_AGENT: agent, UNSEEN_URL: service, UNSEEN_SET: set },
    ...{ UNSEEN_LEASE_SECONDS: LEASE_SECONDS, UNSEEN_TIMEOUT: PATIENT_SECONDS },
    DOWNLOAD_TIMEOUT: PATIENT_SECONDS,
  };
  const args = [starts, settings, { follows: true }].map((one) => JSON.stringify(one));
  const running = startProgram(SCRAPY, FOLDER, args, { PYTHONPATH: `${FOLDER}:${resolve(FOLDER, 'src')}` });
  return program(running, () => /"finish_reason": "(\w+)"/.exec(running.stdout())?.[1] ?? 'no stats');
}

/** `reasonOf` returns why a program that exited with 0 has ended: `finished`, or a reason for the error. */
function program(running: Running, reasonOf: () => string = () => 'finished'): Crawling {
  const { child, ended, stderr } = running;
  return {
    async stop() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
      await ended;
    },
    ended: ended.then((code) => {
      const reason = code === 0 ? reasonOf() : `exit ${code}`;
      if (reason !== 'finished') throw new Error(`a worker ended with ${reason}: ${stderr().slice(-3_000)}`);
    }),
  };
}
