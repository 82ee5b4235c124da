/** A request in a site's access log. Times come from `Date.now()`, the clock that Redis and the service use. */
export interface Request {
  readonly host: string;
  readonly path: string;
  readonly agent: string;
  readonly beganMs: number;
  /** Just before the site sent its answer's end. */
  readonly endedMs: number;
}

/** From just before a kill until the service answers again. */
export interface Kill {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** The pages that a crawl must have requested, and the delay that it must have kept. */
export interface Expected {
  /** The `delaySeconds` of a set with `"maxLeased":1`, in ms. Undefined for a set without `perHost`. */
  readonly delayMs: number | undefined;
  /** All hosts' pages, as the host and the path. */
  readonly pages: readonly string[];
  readonly kills: readonly Kill[];
}

const ROBOTS = '/robots.txt';

/**
 * Returns all violations that an access log shows. The first two rules are those of a set with `"maxLeased":1`:
 *
 * - A host has at most one request in flight.
 * - A request begins at the earliest `delayMs` after the end of the previous request of its host. No tolerance is
 *   needed:
 *   a worker settles a URL after the answer of its site, the delay counts from then, and the next request of the host
 *   comes after the next lease. A worker asks for `robots.txt` and the page under one lease, so without a delay.
 * - A page is requested twice only if a kill came in between, which may lose its acknowledgement.
 * - Every page is requested.
 *
 * The rules hold only for workers that begin no request after their lease has ended, so leases must be longer than
 * outages.
 */
export function judge(log: readonly Request[], { delayMs, pages, kills }: Expected): string[] {
  const violations = delayMs === undefined ? [] : tooSoon(log, delayMs);
  const requests = groupsOf(pagesOf(log), pageOf);
  for (const [page, all] of requests) {
    const again = all.filter((next, n) => {
      const previous = all[n - 1];
      return previous && !kills.some((kill) => isBetween(kill, previous, next));
    });
    if (again.length > 0) violations.push(`requested again without a kill: ${page}`);
  }
  return [...violations, ...pages.filter((page) => !requests.has(page)).map((page) => `missing: ${page}`)];
}

function tooSoon(log: readonly Request[], delayMs: number): string[] {
  return pairs(log).flatMap(({ previous, next, gapMs }) => {
    if (gapMs < 0) return [`two in flight: ${nameOf(previous)}, then ${nameOf(next)}`];
    if (gapMs >= delayMs || isSameLease(previous, next)) return [];
    return [`too soon: ${nameOf(next)} came ${gapMs} ms after ${nameOf(previous)}`];
  });
}

/** An access log's figures. */
export interface Figures {
  readonly requests: number;
  readonly seconds: number;
  /** The shortest time between two requests to a host under different leases. Negative if two overlapped. */
  readonly smallestGapMs: number;
  /** How many parallel requests a host had at most. */
  readonly mostAtOnce: number;
  /** Pages that were requested again. */
  readonly repeated: number;
}

export function figuresOf(log: readonly Request[]): Figures {
  const gaps = pairs(log).filter(({ previous, next }) => !isSameLease(previous, next));
  const pages = pagesOf(log);
  const began = Math.min(...log.map(({ beganMs }) => beganMs));
  const ended = Math.max(...log.map(({ endedMs }) => endedMs));
  return {
    requests: log.length,
    seconds: (ended - began) / 1_000,
    smallestGapMs: Math.min(...gaps.map(({ gapMs }) => gapMs)),
    mostAtOnce: Math.max(...log.map((one) => log.filter((other) => isInFlight(other, one)).length)),
    repeated: pages.length - new Set(pages.map(pageOf)).size,
  };
}

/** A request, and the request to the same host before it that ended last. */
interface Pair {
  readonly previous: Request;
  readonly next: Request;
  readonly gapMs: number;
}

function pairs(log: readonly Request[]): Pair[] {
  const found: Pair[] = [];
  for (const requests of groupsOf(inOrder(log), ({ host }) => host).values()) {
    let previous: Request | undefined;
    for (const next of requests) {
      if (previous) found.push({ previous, next, gapMs: next.beganMs - previous.endedMs });
      if (!previous || next.endedMs >= previous.endedMs) previous = next;
    }
  }
  return found;
}

function groupsOf(
  log: readonly Request[],
  nameIn: (request: Request) => string,
): ReadonlyMap<string, readonly Request[]> {
  const groups = new Map<string, Request[]>();
  for (const request of log) {
    const name = nameIn(request);
    const group = groups.get(name);
    if (group) group.push(request);
    else groups.set(name, [request]);
  }
  return groups;
}

function inOrder(log: readonly Request[]): Request[] {
  return log.toSorted((a, b) => a.beganMs - b.beganMs);
}

function pagesOf(log: readonly Request[]): Request[] {
  return inOrder(log).filter(({ path }) => path !== ROBOTS);
}

function pageOf({ host, path }: Request): string {
  return host + path;
}

function isSameLease(previous: Request, next: Request): boolean {
  return previous.path === ROBOTS && previous.agent === next.agent;
}

function isBetween({ fromMs, untilMs }: Kill, previous: Request, next: Request): boolean {
  return untilMs >= previous.beganMs && fromMs <= next.beganMs;
}

/** Whether `other` was in flight when `one` began. */
function isInFlight(other: Request, one: Request): boolean {
  return other.host === one.host && other.beganMs <= one.beganMs && one.beganMs < other.endedMs;
}

function nameOf(request: Request): string {
  return `${pageOf(request)} by ${request.agent}`;
}
