import { describe, expect, it } from '@jest/globals';
import { figuresOf, judge, type Request } from './judge.js';

const DELAY_MS = 2_000;

/** A page request that took 10 ms. */
function request(page: string, beganMs: number, more: Partial<Request> = {}): Request {
  const [, host = '', path = ''] = /^(.*?)(\/.*)$/.exec(page) ?? [];
  return { host, path, agent: 'one', beganMs, endedMs: beganMs + 10, ...more };
}

/** Judges a crawl that should have requested the pages in its log, and perhaps more pages. */
function judged(log: readonly Request[], { pages = pagesIn(log), kills = [[0, 0]] } = {}): string[] {
  const times = kills.map(([fromMs = 0, untilMs = 0]) => ({ fromMs, untilMs }));
  return judge(log, { delayMs: DELAY_MS, pages, kills: times });
}

function pagesIn(log: readonly Request[]): string[] {
  return log.map(({ host, path }) => host + path).filter((page) => !page.endsWith('/robots.txt'));
}

describe('the judge of access logs', () => {
  it('accepts requests to a host with exactly its delay in between, and to other hosts at any time', () => {
    expect(judged([request('a/1', 1_000), request('b/1', 1_005), request('a/2', 3_010)])).toEqual([]);
  });

  it('finds a request that came too soon, from any worker and whatever the log’s order', () => {
    const log = [request('a/2', 3_009, { agent: 'two' }), request('a/1', 1_000)];
    expect(judged(log)).toEqual(['too soon: a/2 by two came 1999 ms after a/1 by one']);
  });

  it('counts the delay from the longest request’s end', () => {
    const log = [request('a/1', 1_000, { endedMs: 9_000 }), request('a/2', 2_000), request('a/3', 4_500)];
    expect(judged(log)).toEqual([
      'two in flight: a/1 by one, then a/2 by one',
      'two in flight: a/1 by one, then a/3 by one',
    ]);
  });

  it('finds two requests in flight, one of which is for robots.txt', () => {
    const log = [request('a/robots.txt', 1_000), request('a/1', 1_009)];
    expect(judged(log)).toEqual(['two in flight: a/robots.txt by one, then a/1 by one']);
  });

  it('lets a worker request a page directly after robots.txt', () => {
    const log = [request('a/1', 1_000), request('a/robots.txt', 3_010), request('a/2', 3_020)];
    expect(judged(log)).toEqual([]);
  });

  it('lets no other request follow robots.txt directly, and robots.txt no page', () => {
    const log = [
      request('a/robots.txt', 1_000),
      request('a/1', 1_010, { agent: 'two' }),
      request('b/1', 1_000),
      request('b/robots.txt', 1_010),
    ];
    expect(judged(log)).toEqual([
      'too soon: a/1 by two came 0 ms after a/robots.txt by one',
      'too soon: b/robots.txt by one came 0 ms after b/1 by one',
    ]);
  });

  const TWICE = [request('a/1', 1_000), request('a/1', 9_000)];
  const AGAIN = ['requested again without a kill: a/1'];

  it.each([
    { when: 'no kill', kills: [], expected: AGAIN },
    { when: 'a kill before the first request', kills: [[100, 999]], expected: AGAIN },
    { when: 'a kill after the second request', kills: [[9_001, 9_500]], expected: AGAIN },
    { when: 'a kill between the two', kills: [[1_005, 1_500]], expected: [] },
    { when: 'an outage that began before the first request', kills: [[900, 1_500]], expected: [] },
  ])('judges a page that is requested twice: $when', ({ kills, expected }) => {
    expect(judged(TWICE, { kills })).toEqual(expected);
  });

  it('needs a kill for each repetition', () => {
    const log = [...TWICE, request('a/1', 20_000)];
    expect(judged(log, { kills: [[1_005, 1_500]] })).toEqual(AGAIN);
  });

  it('lets robots.txt be requested several times', () => {
    expect(judged([request('a/robots.txt', 1_000), request('a/robots.txt', 9_000)], { pages: [] })).toEqual(
      [],
    );
  });

  it('compares no times in a set without perHost', () => {
    const log = [request('a/1', 1_000), request('a/2', 1_005), request('a/3', 1_015)];
    expect(judge(log, { delayMs: undefined, pages: ['a/1', 'a/4'], kills: [] })).toEqual(['missing: a/4']);
  });

  it('finds a missing page even if another host has its path', () => {
    expect(judged([request('a/1', 1_000)], { pages: ['a/1', 'b/1'] })).toEqual(['missing: b/1']);
  });
});

describe('the figures of access logs', () => {
  it('have the smallest gap of all hosts, without those after robots.txt', () => {
    const log = [
      ...[request('a/robots.txt', 1_000), request('a/1', 1_010), request('a/2', 3_120)],
      ...[request('b/1', 1_100), request('b/1', 3_200)],
    ];
    const figures = { requests: 5, seconds: 2.21, smallestGapMs: 2_090, mostAtOnce: 1, repeated: 1 };
    expect(figuresOf(log)).toEqual(figures);
  });

  it('have a negative gap if requests to a host overlap', () => {
    const log = [request('a/1', 1_000), request('a/2', 1_002), request('a/3', 1_004), request('b/1', 1_003)];
    expect(figuresOf(log)).toMatchObject({ smallestGapMs: -8, mostAtOnce: 3 });
  });
});
