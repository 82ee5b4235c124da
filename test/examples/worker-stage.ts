import { UnseenClient, type VisitedSet } from '#client';
import { freshName } from '../support/app.js';
import type { Example } from '../support/example.js';
import { PYTHON_PROGRAM, startProgram, TYPESCRIPT, type Program, type Running } from './worker-programs.js';
import { page, Site, type Fetch, type Reply, type SiteName } from './worker-site.js';

/** No politeness delays, because these tests don't measure them. */
export const QUICK = ['--delay', '0', '--retry', '0'];
/** An empty queue's counts. */
export const EMPTY = { waiting: 0, leased: 0, delayed: 0, dead: 0 };

/** The processes and sites that a file's tests start. Each test ends with `clear`. */
export class Stage {
  private readonly running: Running[] = [];
  private readonly sites: Site[] = [];

  constructor(private readonly example: () => Example) {}

  async site(answer: (fetch: Fetch) => Reply | Promise<Reply>, name: SiteName = '127.0.0.1'): Promise<Site> {
    const site = await Site.start(answer, name);
    this.sites.push(site);
    return site;
  }

  start(program: Program, args: readonly string[], env: Readonly<Record<string, string>> = {}): Running {
    const one = startProgram(program, this.example().folder, args, env);
    this.running.push(one);
    return one;
  }

  /** Runs the program and expects success. */
  async run(program: Program, args: readonly string[]): Promise<Running> {
    const one = this.start(program, args);
    await endWell(one);
    return one;
  }

  async clear(): Promise<void> {
    for (const { child, ended } of this.running.splice(0)) {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
      await ended;
    }
    for (const site of this.sites.splice(0)) await site.stop();
  }
}

/** Waits until a program ends. Throws its stderr unless it exits with 0. */
export async function endWell(one: Running): Promise<void> {
  const ended = await one.ended;
  if (ended !== 0) throw new Error(`it ended with ${ended}: ${one.stderr()}`);
}

/** The programs' options for a set without a delay, for tests that create the set. */
export const ONE_EACH = { capacity: 1_000, perHost: { maxLeased: 1 } };

/** A set with a new name, which the program or the test creates. */
export function freshSet(url: string): VisitedSet {
  return new UnseenClient({ url }).visitedSet(freshName('set'));
}

export async function counts(set: VisitedSet): Promise<Record<keyof typeof EMPTY, number>> {
  const description = await set.describe();
  if (!('queue' in description)) throw new Error('the set has lost data');
  const { waiting, leased, delayed, dead } = description.queue;
  return { waiting, leased, delayed, dead };
}

/** The reasons of dead letters, by URL path. */
export async function deadLetters(set: VisitedSet): Promise<ReadonlyMap<string, string>> {
  const reasons = new Map<string, string>();
  for await (const { url, reason } of set.deadLetters()) reasons.set(new URL(url).pathname, reason);
  return reasons;
}

/** Runs a test with both programs in parallel, because they mostly wait. Each run has its own sets and sites. */
export function withEach(test: (program: Program) => Promise<void>): () => Promise<void> {
  return async () => {
    const programs = [TYPESCRIPT, PYTHON_PROGRAM].filter(({ why }) => why === '');
    const results = await Promise.allSettled(programs.map(test));
    for (const [i, result] of results.entries())
      if (result.status === 'rejected')
        throw new Error(`${programs[i]?.name}: ${String(result.reason)}`, { cause: result.reason });
  };
}

/** Answers for a tree of `count` pages with extra links that form cycles. 404 for other paths. */
export function tree(
  count: number,
  also: (n: number) => readonly string[] = () => [],
): (path: string) => Reply {
  return (path) => {
    const n = /^\/\d+$/.test(path) ? Number(path.slice(1)) : NaN;
    return n < count ? page([...linksOf(n, count), ...also(n)]) : { status: 404 };
  };
}

/** The sorted paths of such a tree. */
export function pathsOf(count: number): string[] {
  return Array.from({ length: count }, (_, n) => `/${n}`).sort();
}

/** The two child pages, and some other pages. */
function linksOf(n: number, count: number): string[] {
  const links = [2 * n + 1, 2 * n + 2, (n + 1) % count, (7 * n) % count, 0];
  return links.filter((link) => link < count).map((link) => `/${link}#part-${n}`);
}
