import { msUntil } from '../../clock.js';
import { encodeEntryId, hashPrefixOf } from '../../entry-id.js';
import { joinAll } from '../../join-all.js';
import {
  type DeadLetterPage,
  type EntryPage,
  type EntryQuery,
  type Filter,
  type LeasedEntry,
  type LeaseLimits,
  type Operation,
  type Queue,
  type Release,
  MAX_LEASED_BYTES,
  RELEASED,
} from '../../port/index.js';
import { assertAgain, assertKnowsHosts, assertLimits } from '../../refusals.js';
import { readDeadLetters } from './dead-letters.js';
import { dropEntries } from './drop-entries.js';
import { readEntries } from './entry-pages.js';
import { RedisFilter } from '../layout/filter.js';
import { readEntry } from './queue-entry.js';
import type { QueueWatches } from './queue-watches.js';
import type { Segments } from '../segments/segments.js';
import { reviewScript } from '../scripts/dead-letters.js';
import { LEASE_ENTRIES, LEASED, scriptFor } from '../scripts/queue-state.js';
import { leaseScript, settleScript } from '../scripts/queue.js';
import { settle } from '../segments/settling.js';
import type { Sweeper } from '../segments/sweeper.js';

const NEWLINE = 10;

/** A segment's answer to a lease. */
interface SegmentLease {
  readonly entries: LeasedEntry[];
  /** Number of entries that were leased. A repeat returns only those that the lease still holds. */
  readonly given: number;
  readonly bytes: number;
  /** True if there is more to read. */
  readonly more: boolean;
  /** True if the next entry would exceed MAX_LEASED_BYTES. */
  readonly full: boolean;
  /** True if another script, with its own record, may find more. */
  readonly goesOn: boolean;
  /** True if it has leased nothing, and this instance must remove the scheduled entries that a commit has left. */
  readonly takesOver: boolean;
  /** In a per-host queue, when the lease began in this segment. See leaseScript. */
  readonly began: string;
  /** How many due entries this lease has brought back in the segment. */
  readonly brought: number;
  /** True if it comes from the record of an earlier attempt. */
  readonly isRepeat: boolean;
}

export class RedisQueue implements Queue {
  constructor(
    private readonly segments: Segments,
    private readonly watches: QueueWatches,
    private readonly sweeper: Sweeper,
    /** Removes scheduled entries of items that a committed sync has forgotten. */
    private readonly removeUnclaimed: (filter: RedisFilter) => Promise<void>,
    /** Time for one step of a read, in ms. */
    private readonly timeoutMs: number,
  ) {}

  /** Leases from one segment after another, starting at one that the operation's id selects, until it has enough. */
  async lease(
    handle: Filter,
    max: number,
    leaseMs: number,
    operation: Operation,
    limits?: LeaseLimits,
  ): Promise<LeasedEntry[]> {
    assertLimits(handle, limits);
    const filter = RedisFilter.of(handle);
    const { spread: segments } = filter;
    // With a single segment, the script itself finds a repeat's record.
    const before =
      operation.repeat && segments > 1 ? await this.recallLease(filter, max, operation) : undefined;
    if (before) return before;
    const first = startOf(operation.id, segments);
    const leased: LeasedEntry[] = [];
    let bytes = MAX_LEASED_BYTES;
    let given = 0;
    for (let n = 0, full = false; n < segments && given < max && !full; n++) {
      const segment = (first + n) % segments;
      let began: string | undefined;
      let brought = 0;
      for (let more = true, part = 0, isRepeat = false; more;) {
        // A repeat takes no more than the first attempt did.
        const wanted = isRepeat ? 0 : max - given;
        const mayExceed = given === 0 ? '1' : '0';
        const args = [wanted, leaseMs, bytes, mayExceed, brought, ...perHostIn(filter, limits, began)];
        const answers = await this.leaseFrom(filter, segment, operation, args, part);
        const found = readLease(answers, filter, segment, max - given);
        if (found.takesOver) {
          // If it fails, a later lease tries again.
          void this.removeUnclaimed(filter).catch(() => undefined);
          continue;
        }
        leased.push(...found.entries);
        given += found.given;
        bytes -= found.bytes;
        brought = found.brought;
        full = found.full;
        isRepeat ||= found.isRepeat;
        if (found.goesOn) part++;
        if (part > 0) began ??= found.began;
        more = (found.more || (found.goesOn && given < max)) && msUntil(operation.deadline) > 0;
      }
    }
    // Entries may have come back to hosts that must wait. Check when these are due.
    if (filter.perHost && leased.length === 0) this.watches.reschedule(filter);
    return leased;
  }

  async ack(
    filter: Filter,
    ids: readonly string[],
    operation: Operation,
    againAfterMs?: number,
  ): Promise<Uint8Array> {
    assertAgain(filter, againAfterMs);
    return this.settle('ack', filter, ids, operation, [Math.ceil(againAfterMs ?? 0), '', 1]);
  }

  release(
    filter: Filter,
    ids: readonly string[],
    operation: Operation,
    { delayMs = 0, reason = '', countAttempt = true, hostDelayMs = 0 }: Partial<Release> = {},
  ): Promise<Uint8Array> {
    const args = [delayMs, reason === '' ? RELEASED : reason, countAttempt ? 1 : 0] as const;
    return this.settle('release', filter, ids, operation, args, Math.ceil(hostDelayMs));
  }

  extend(filter: Filter, ids: readonly string[], leaseMs: number, operation: Operation): Promise<Uint8Array> {
    return this.settle('extend', filter, ids, operation, [leaseMs, '', 1]);
  }

  watch(filter: Filter, wake: () => void): () => void {
    return this.watches.watch(RedisFilter.of(filter), wake);
  }

  deadLetters(filter: Filter, limit: number, after?: string): Promise<DeadLetterPage> {
    return readDeadLetters(this.segments, RedisFilter.of(filter), limit, after, this.timeoutMs);
  }

  async entries(filter: Filter, query: EntryQuery, limit: number, after?: string): Promise<EntryPage> {
    if (query.host !== undefined) assertKnowsHosts(filter);
    return readEntries(this.segments, RedisFilter.of(filter), query, limit, after, this.timeoutMs);
  }

  drop(filter: Filter, ids: readonly string[], operation: Operation): Promise<Uint8Array> {
    return dropEntries(this.segments, this.sweeper, RedisFilter.of(filter), ids, operation);
  }

  record(filter: Filter, operation: Operation, answer: string): Promise<string> {
    return this.segments.record(RedisFilter.of(filter), operation, answer);
  }

  recall(filter: Filter, operation: Operation): Promise<string | undefined> {
    return this.segments.recallCall(RedisFilter.of(filter), operation);
  }

  putBack(filter: Filter, ids: readonly string[], operation: Operation): Promise<Uint8Array> {
    return this.review('putBack', filter, ids, operation);
  }

  purge(filter: Filter, ids: readonly string[], operation: Operation): Promise<Uint8Array> {
    return this.review('purge', filter, ids, operation);
  }

  private settle(
    verb: 'ack' | 'release' | 'extend',
    filter: Filter,
    ids: readonly string[],
    operation: Operation,
    args: readonly [number, string, 0 | 1],
    hostDelayMs = 0,
  ): Promise<Uint8Array> {
    const settling = { script: settleScript, verb, of: 'lease', args, hostArgs: [hostDelayMs] } as const;
    return settle(this.segments, RedisFilter.of(filter), ids, operation, settling);
  }

  private review(
    verb: 'putBack' | 'purge',
    filter: Filter,
    ids: readonly string[],
    operation: Operation,
  ): Promise<Uint8Array> {
    const settling = { script: reviewScript, verb, of: 'dead-letter', args: [] } as const;
    return settle(this.segments, RedisFilter.of(filter), ids, operation, settling);
  }

  /**
   * The entries that earlier attempts have leased and still hold, or undefined if they found none. Overlapping attempts
   * may have leased more than `max` entries. The result has the first `max`, in the order in which an attempt visits
   * the segments.
   */
  private async recallLease(
    filter: RedisFilter,
    max: number,
    operation: Operation,
  ): Promise<LeasedEntry[] | undefined> {
    const { spread: segments } = filter;
    const first = startOf(operation.id, segments);
    const order = Array.from({ length: segments }, (_, n) => (first + n) % segments);
    const answers = await joinAll(order.map((segment) => this.recallFrom(filter, segment, operation)));
    const leased: LeasedEntry[] = [];
    let given = 0;
    for (const [n, segment] of order.entries()) {
      for (const answer of answers[n] as Buffer[]) {
        const held = readLease(answer, filter, segment, max - given);
        leased.push(...held.entries);
        given += held.given;
      }
    }
    return given > 0 ? leased : undefined;
  }

  /** A segment's recorded answers. */
  private async recallFrom(filter: RedisFilter, segment: number, operation: Operation): Promise<Buffer[]> {
    const answers: Buffer[] = [];
    for (let more = true; more;) {
      const args = [0, 0, 0, '0', 0, ...perHostIn(filter)];
      const answer = await this.leaseFrom(filter, segment, operation, args, answers.length);
      answers.push(answer);
      more = readLease(answer, filter, segment, 0).goesOn;
    }
    return answers;
  }

  /** Runs the part of a lease with this number. Each part has its own record. */
  private async leaseFrom(
    filter: RedisFilter,
    segment: number,
    operation: Operation,
    args: readonly (string | number)[],
    part: number,
  ): Promise<Buffer> {
    const { answers } = await this.segments.changeBinary({
      script: scriptFor(filter, leaseScript),
      filter,
      segment,
      operation,
      field: `lease:${operation.id}${part === 0 ? '' : `\0${part}`}`,
      args: [filter.maxAttempts ?? 0, ...args],
    });
    return answers;
  }
}

/** Arguments for leaseScript: the maximum number of entries per host (0 for the default), and when the lease began. */
function perHostIn(
  { perHost }: RedisFilter,
  { maxPerHost = 0 }: LeaseLimits = {},
  began = '',
): (string | number)[] {
  return perHost ? [maxPerHost, began] : [];
}

/** Decodes leaseScript's answer, up to the first `most` entries of the lease. */
function readLease(
  answers: Buffer,
  { generation, geometry, perHost }: RedisFilter,
  segment: number,
  most: number,
): SegmentLease {
  const end = answers.indexOf(NEWLINE);
  const head = answers.toString('latin1', 0, end).split(' ');
  const [first = 0, given = 0, flag = 0] = head.map(Number);
  const began = head[3] ?? '';
  const brought = Number(head[4] ?? 0);
  const states = head[5] ?? '';
  const entries: LeasedEntry[] = [];
  let bytes = 0;
  for (let n = 0, at = end + 1; n < given; n++) {
    if (states[n] === '-') continue;
    const { attempt, hash, payload, size } = readEntry(answers, at, perHost !== undefined);
    at += size;
    bytes += payload.length;
    if (n >= most || (states !== '' && states.charCodeAt(n) !== LEASED)) continue;
    const id = encodeEntryId(generation, {
      of: 'lease',
      segment,
      number: first + Math.floor(n / LEASE_ENTRIES),
      index: n % LEASE_ENTRIES,
      hashPrefix: hashPrefixOf(hash, geometry),
    });
    entries.push({ id, payload: (payload as Buffer).toString(), attempt: attempt + 1 });
  }
  return {
    entries,
    given,
    bytes,
    more: flag === 1,
    full: flag === 2,
    goesOn: flag === 3,
    takesOver: flag === 4,
    ...{ began, brought },
    isRepeat: states !== '',
  };
}

function startOf(id: string, segments: number): number {
  let sum = 0;
  for (let i = 0; i < id.length; i++) sum = (Math.imul(sum, 31) + id.charCodeAt(i)) >>> 0;
  return sum % segments;
}
