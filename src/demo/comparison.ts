import { DemoError } from './demo-error.js';
import { Flag, type UrlList } from './url-list.js';
import type { VisitedSet } from './visited-set.js';

/** A visited set's results for an input list, compared with an exact set's. */
export interface Comparison {
  readonly discovered: Discovered;
  readonly forgotten: Forgotten;
  readonly checked: Checked;
}

interface Pass {
  readonly linesPerSecond: number;
}

/** Counts of lines. */
export interface Discovered extends Pass {
  readonly given: number;
  readonly invalid: number;
  readonly fresh: number;
  readonly seen: number;
  /** Positions of first occurrences that got `seen`. These URLs are not stored. */
  readonly falsePositives: ReadonlySet<number>;
  /** Number of repeated URLs that got `new`. */
  readonly falseNegatives: number;
}

/** Counts of distinct URLs. */
export interface Forgotten extends Pass {
  readonly stale: number;
  readonly forgotten: number;
}

/** Counts of distinct URLs. */
export interface Checked extends Pass {
  readonly kept: number;
  /** Number of forgotten URLs that got `seen`. */
  readonly falsePositives: number;
  /** Number of kept URLs that got `unseen`. */
  readonly falseNegatives: number;
  /** How many of the false negatives were never stored, because their first occurrence got `seen`. */
  readonly neverStored: number;
}

/** Runs an input list through an empty visited set in three passes. */
export async function compare(list: UrlList, visited: VisitedSet): Promise<Comparison> {
  const discovered = await discover(list, visited);
  const forgotten = await forget(list, visited);
  return { discovered, forgotten, checked: await check(list, visited, discovered.falsePositives) };
}

async function discover(list: UrlList, visited: VisitedSet): Promise<Discovered> {
  const counts = { given: 0, invalid: 0, fresh: 0, seen: 0, falseNegatives: 0 };
  const falsePositives = new Set<number>();
  const linesPerSecond = await visited.pass('discover', list, everyLine, (flags, answer, place) => {
    const first = (flags & Flag.First) !== 0;
    counts.given++;
    if ((answer === 'invalid') !== (flags === Flag.Invalid)) {
      throw new DemoError(
        `demo and service disagree on whether line ${counts.given} is a valid URL: check that their versions and MAX_ITEM_BYTES are equal`,
      );
    }
    if (answer === 'invalid') counts.invalid++;
    else if (answer === 'new') counts.fresh++;
    else counts.seen++;
    if (answer === 'seen' && first) falsePositives.add(place);
    if (answer === 'new' && !first) counts.falseNegatives++;
  });
  return { ...counts, falsePositives, linesPerSecond };
}

/** Forgets every stale URL once. */
async function forget(list: UrlList, visited: VisitedSet): Promise<Forgotten> {
  const counts = { stale: 0, forgotten: 0 };
  const staleOnce = (flags: number): boolean => (flags & Flag.First) !== 0 && (flags & Flag.Stale) !== 0;
  const linesPerSecond = await visited.pass('forget', list, staleOnce, (_, answer) => {
    counts.stale++;
    if (answer === 'forgotten') counts.forgotten++;
  });
  return { ...counts, linesPerSecond };
}

/** Checks every line. Each distinct URL counts once. */
async function check(list: UrlList, visited: VisitedSet, unstored: ReadonlySet<number>): Promise<Checked> {
  const counts = { kept: 0, falsePositives: 0, falseNegatives: 0, neverStored: 0 };
  const linesPerSecond = await visited.pass('check', list, everyLine, (flags, answer, place) => {
    if ((flags & Flag.First) === 0) return;
    const stale = (flags & Flag.Stale) !== 0;
    if (!stale) counts.kept++;
    if (stale && answer === 'seen') counts.falsePositives++;
    if (!stale && answer === 'unseen') counts.falseNegatives++;
    if (!stale && answer === 'unseen' && unstored.has(place)) counts.neverStored++;
  });
  return { ...counts, linesPerSecond };
}

const everyLine = (): boolean => true;
