import { joinAll } from '../join-all.js';
import type { Filter, LeasedEntry, Operation, Queue } from '../store.js';
import { MAX_LEASED_BYTES } from '../store.js';
import { decodeLeaseId, encodeLeaseId } from '../lease-id.js';
import { RedisFilter } from './filter.js';
import { dealChunks } from './packing.js';
import type { Segments } from './segments.js';
import { leaseScript, settleScript } from './scripts/queue.js';

/**
 * Entries a script is given: each takes four to six calls inside the server, about 3 µs. Not to be edited, since chunks
 * name operation records.
 */
const ENTRIES_PER_SCRIPT = 100;

/** The point at the end of leaseScript's answer, which no entry begins with. */
const FULL = 46;

export class RedisQueue implements Queue {
  constructor(private readonly segments: Segments) {}

  /**
   * Segment after segment, from one that the operation's id picks, so that a repeat asks in the same order and
   * gets from each segment's record what it got before.
   */
  async lease(handle: Filter, max: number, leaseMs: number, operation: Operation): Promise<LeasedEntry[]> {
    const filter = RedisFilter.of(handle);
    const { segments } = filter.geometry;
    const first = startOf(operation.id, segments);
    const leased: LeasedEntry[] = [];
    let bytes = MAX_LEASED_BYTES;
    for (let n = 0, full = false; n < segments && leased.length < max && !full; n++) {
      const segment = (first + n) % segments;
      for (let chunk = 0, exhausted = false; !exhausted && leased.length < max; chunk++) {
        const wanted = Math.min(ENTRIES_PER_SCRIPT, max - leased.length);
        const field = `lease:${operation.id}:${chunk}`;
        const args = [wanted, leaseMs, bytes, leased.length === 0 ? '1' : '0'];
        const { answers } = await this.segments.changeBinary({
          script: leaseScript,
          filter,
          segment,
          operation,
          field,
          args,
        });
        const read = readLeased(answers, segment);
        const { entries } = read;
        leased.push(...entries);
        for (const { payload } of entries) bytes -= Buffer.byteLength(payload);
        full = read.full;
        exhausted = entries.length < wanted;
      }
    }
    return leased;
  }

  ack(filter: Filter, ids: readonly string[], operation: Operation): Promise<Uint8Array> {
    return this.settle('ack', filter, ids, operation);
  }

  release(filter: Filter, ids: readonly string[], operation: Operation): Promise<Uint8Array> {
    return this.settle('release', filter, ids, operation);
  }

  private async settle(
    verb: 'ack' | 'release',
    handle: Filter,
    ids: readonly string[],
    operation: Operation,
  ): Promise<Uint8Array> {
    const filter = RedisFilter.of(handle);
    const { segments } = filter.geometry;
    const leases = ids.map(decodeLeaseId);
    // Ids that name no segment of this filter are unknown; they are not sent.
    const known = Uint32Array.from(leases.keys()).filter((i) => (leases[i]?.segment ?? segments) < segments);
    const results = new Uint8Array(ids.length);
    await this.segments.begin(filter, operation, verb);
    const owners = known.map((i) => leases[i]?.segment ?? 0);
    await joinAll(
      dealChunks(owners, segments, ENTRIES_PER_SCRIPT).map(async (chunks) => {
        for (const { segment, number, indexes } of chunks) {
          const places = indexes.map((index) => known[index] as number);
          const packed = Buffer.concat(
            [...places].map((i) => {
              const { hash, lease } = leases[i] as NonNullable<(typeof leases)[number]>;
              return Buffer.concat([hash, Buffer.from(lease.toString(16).padStart(16, '0'))]);
            }),
          );
          const field = `${verb}:${operation.id}:${number}`;
          const args = [places.length, verb, packed];
          const { answers } = await this.segments.change({
            script: settleScript,
            filter,
            segment,
            operation,
            field,
            args,
          });
          places.forEach((place, n) => (results[place] = answers.charCodeAt(n) - 48));
        }
      }),
    );
    return results;
  }
}

/** What leaseScript answers. `full`: MAX_LEASED_BYTES were too few for another entry. */
function readLeased(answers: Buffer, segment: number): { entries: LeasedEntry[]; full: boolean } {
  const entries: LeasedEntry[] = [];
  let at = 0;
  while (at < answers.length && answers[at] !== FULL) {
    const numbers: number[] = [];
    while (numbers.length < 3) {
      const end = answers.indexOf(' ', at);
      if (end < 0) throw new Error('a leased entry is cut short');
      numbers.push(Number(answers.toString('latin1', at, end)));
      at = end + 1;
    }
    const [lease = 0, attempt = 0, length = 0] = numbers;
    const id = encodeLeaseId({ segment, hash: answers.subarray(at, at + 16), lease });
    entries.push({ id, payload: answers.toString('utf8', at + 16, at + 16 + length), attempt });
    at += 16 + length;
  }
  return { entries, full: at < answers.length };
}

function startOf(id: string, segments: number): number {
  let sum = 0;
  for (let i = 0; i < id.length; i++) sum = (Math.imul(sum, 31) + id.charCodeAt(i)) >>> 0;
  return sum % segments;
}
