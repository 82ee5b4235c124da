import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { positionsOf } from '#bloom';
import {
  Added,
  type Filter,
  type HostSettings,
  type HostView,
  type LeasedEntry,
  type QueueEntry,
  Settled,
} from '#store';
import type { RedisStore } from '#store/redis';
import { CATALOGUE } from '../../libs/store/src/redis/layout/keys.js';
import { check, keyed, made, makeFilter } from '../contract/calls.js';
import { DELAY_MS, HELD_MS, hostOptions, urls } from '../contract/host-calls.js';
import { payloads, QueueCalls } from '../contract/queue-calls.js';
import { clock } from '../support/clock.js';
import { until } from '../support/until.js';
import { Failover, masterOf, masterOfSegment } from './failover.js';

/** A segment for each master, as the service creates sets with `perHost` on a cluster. */
const SPREAD = {
  segmentation: { maxSegmentBytes: 2 ** 20, minSegments: 3, minSegmentBytes: 1, spread: 3 },
};
const CATALOGUE_AT = masterOf(CATALOGUE.filters);

/** Hosts of the first test, named for their fates. Before the replica stops: */
const EARLY = ['held', 'paced', 'putOff', 'blocked'] as const;
/** After that: */
const LATE = [
  ...(['foundLate', 'moreLate', 'leasedLate', 'ackedLate', 'releasedLate'] as const),
  ...(['blockedLate', 'unblockedLate', 'droppedLate'] as const),
];

/** So short that workers always find a host that is due, even under load. */
const PACE_MS = 20;
const WORKERS = 4;
const HOSTS = 8;
const URLS_A_HOST = 20;
/** Number of acknowledgements before and after the replica stops. */
const SOME = 40;

const hostOf = (url: string): string => new URL(url).hostname;

/** A lease of one URL, as its worker sees it. */
interface Visit {
  readonly url: string;
  /** When the lease was returned, and when its acknowledgement was sent. */
  readonly from: number;
  readonly to: number;
  readonly answer: number | undefined;
}

describe('a set with perHost, when a replica without the last writes takes over', () => {
  let failover: Failover;
  let store: RedisStore;
  const calls = new QueueCalls({
    get store() {
      return store;
    },
  });

  beforeAll(async () => {
    failover = await Failover.start();
    store = await failover.open({ clock });
  });
  afterAll(async () => {
    await store.close();
    await failover.cluster.stop();
  });

  /** Host names whose segment is on this master, or on another one. */
  const hostsOn = (filter: Filter, count: number, at: number, isThere = true): string[] => {
    const found: string[] = [];
    for (let n = 0; found.length < count; n++) {
      const { segment } = positionsOf(urls(`h${n}`, 1), filter.seed, filter.geometry);
      if ((masterOfSegment(filter, segment[0] as number) === at) === isThere) found.push(`h${n}`);
    }
    return found;
  };

  const queueOf = async (filter: Filter): Promise<{ hosts: HostView[]; entries: QueueEntry[] }> => {
    const { hosts, next } = await store.hosts.list(filter, 1_000);
    expect(next).toBeUndefined();
    const entries: QueueEntry[] = [];
    for (let after: string | undefined, more = true; more;) {
      const page = await store.queue.entries(filter, {}, 1_000, after);
      entries.push(...page.entries);
      after = page.next;
      more = after !== undefined;
    }
    return { hosts, entries: entries.sort((a, b) => (a.payload < b.payload ? -1 : 1)) };
  };

  /** Everything callers can see about each of these hosts and their URLs. */
  const viewOf = async (filter: Filter, names: readonly string[]) => {
    const { hosts, entries } = await queueOf(filter);
    const visited = await Promise.all(names.map((name) => check(store, filter, urls(name, 4))));
    return names.map((name, n) => ({
      host: hosts.find((host) => host.name === `${name}.example`),
      entries: entries.filter(({ host }) => host === `${name}.example`),
      visited: visited[n],
    }));
  };

  const answersAgain = (filter: Filter): Promise<void> =>
    until('every segment answers', () =>
      Promise.all([store.describe(filter), queueOf(filter)]).then(
        () => true,
        () => false,
      ),
    );

  it('loses the entries and the pace of each host together, and keeps those of all other hosts', async () => {
    const filter = await makeFilter(store, hostOptions({ delayMs: DELAY_MS, maxLeased: 1 }, SPREAD));
    const victim = (CATALOGUE_AT + 1) % 3;
    const roles = [...EARLY, ...LATE];
    const names = hostsOn(filter, roles.length, victim);
    const on = Object.fromEntries(roles.map((role, n) => [role, names[n]])) as Record<
      (typeof roles)[number],
      string
    >;
    const others = hostsOn(filter, 2, victim, false) as [string, string];
    const [acked, leased] = others;
    const heads = (...of: readonly string[]) => of.flatMap((name) => urls(name, 1)).sort();
    const seconds = (...of: readonly string[]) => of.flatMap((name) => urls(name, 1, 1)).sort();
    const discover = (of: readonly string[]) =>
      calls.discover(
        filter,
        of.flatMap((name) => urls(name, 2)),
      );
    const set = (name: string, settings: HostSettings) =>
      store.hosts.set(filter, `${name}.example`, settings, made());
    const held = new Map<string, LeasedEntry>();
    const lease = async (): Promise<string[]> => {
      const found = await calls.lease(filter, 100, HELD_MS);
      for (const entry of found) held.set(hostOf(entry.payload), entry);
      return payloads(found).sort();
    };
    const leaseOf = (name: string) => [held.get(`${name}.example`) as LeasedEntry];
    const ack = (name: string, operation = made()) =>
      store.queue.ack(filter, [leaseOf(name)[0]!.id], operation);
    const putOff = (name: string, operation = made()) =>
      store.queue.release(filter, [leaseOf(name)[0]!.id], operation, { hostDelayMs: 3 * DELAY_MS });
    const DONE = Uint8Array.of(Settled.Done);

    const first = [on.held, on.paced, on.putOff, on.ackedLate, on.releasedLate, acked];
    await discover(first);
    expect(await lease()).toEqual(heads(...first));
    expect(await ack(on.paced)).toEqual(DONE);
    expect(await putOff(on.putOff)).toEqual(DONE);
    const blockedUntil = clock.now() + 10 * DELAY_MS;
    for (const name of [on.blocked, on.unblockedLate, on.moreLate]) await set(name, { blockedUntil });
    const waiting = [
      on.blocked,
      on.moreLate,
      on.leasedLate,
      on.blockedLate,
      on.unblockedLate,
      on.droppedLate,
    ];
    await discover([...waiting, leased]);

    const kept = await viewOf(filter, names);
    const [ackedLate, releasedLate] = [keyed(), keyed()];
    let [lost, elsewhere] = [kept, kept];
    await failover.losing(victim, async () => {
      await set(on.blockedLate, { blockedUntil });
      expect(await store.hosts.drop(filter, `${on.droppedLate}.example`, made())).toBe(2);
      expect(await lease()).toEqual(heads(on.leasedLate, leased));
      expect(await ack(on.ackedLate, ackedLate)).toEqual(DONE);
      expect(await putOff(on.releasedLate, releasedLate)).toEqual(DONE);
      await set(on.unblockedLate, {});
      await discover([on.foundLate]);
      expect(await calls.discover(filter, urls(on.moreLate, 1, 2))).toEqual([Added.New]);
      expect(await ack(acked)).toEqual(DONE);
      lost = await viewOf(filter, names);
      elsewhere = await viewOf(filter, others);
    });
    await answersAgain(filter);

    for (const [n, role] of roles.entries()) {
      if (n < EARLY.length) expect([role, lost[n]]).toEqual([role, kept[n]]);
      else expect([role, lost[n]]).not.toEqual([role, kept[n]]);
    }
    expect(await viewOf(filter, names)).toEqual(kept);
    expect(await viewOf(filter, others)).toEqual(elsewhere);

    // The new master doesn't know this lease, so another worker gets its URL.
    expect(await ack(on.leasedLate)).not.toEqual(DONE);
    expect(await calls.discover(filter, urls(on.foundLate, 2))).toEqual([Added.New, Added.New]);
    expect(await lease()).toEqual(heads(on.leasedLate, on.blockedLate, on.droppedLate, on.foundLate));
    // The leases that the new master knows count towards `maxLeased`, although some had ended on the old one.
    expect(await lease()).toEqual([]);
    // The repeats run again, because the operations' records were lost together with their effects.
    expect(await ack(on.ackedLate, ackedLate)).toEqual(DONE);
    expect(await putOff(on.releasedLate, releasedLate)).toEqual(DONE);
    expect(await ack(on.held)).toEqual(DONE);
    clock.advance(DELAY_MS / 2);
    expect(await lease()).toEqual([]);
    clock.advance(DELAY_MS / 2);
    expect(await lease()).toEqual(seconds(on.paced, on.ackedLate, on.held, acked));
    clock.advance(2 * DELAY_MS);
    expect(await lease()).toEqual(seconds(on.putOff, on.releasedLate));
    clock.advance(7 * DELAY_MS);
    expect(await lease()).toEqual(heads(on.blocked, on.unblockedLate, on.moreLate));
  });

  it('goes on under load within maxLeased and delaySeconds, and hands out every URL', async () => {
    const filter = await makeFilter(store, hostOptions({ delayMs: PACE_MS, maxLeased: 1 }, SPREAD));
    const victim = (CATALOGUE_AT + 2) % 3;
    const doomed = new Set(hostsOn(filter, HOSTS, victim).map((name) => `${name}.example`));
    const names = [...hostsOn(filter, HOSTS, victim), ...hostsOn(filter, HOSTS, victim, false)];
    const all = names.flatMap((name) => urls(name, URLS_A_HOST));
    await calls.discover(filter, all);

    /** Workers lease and acknowledge until `isOver`, which gets each lease's URLs. */
    const crawl = async (
      visits: Visit[],
      isOver: (found: number) => Promise<boolean>,
      after: (url: string) => Promise<unknown>,
    ): Promise<void> => {
      const worker = async () => {
        for (let over = false; !over;) {
          const found = await calls.lease(filter, 3, HELD_MS);
          const from = clock.now();
          for (const entry of found) {
            const to = clock.now();
            const [answer] = await calls.ack(filter, [entry]);
            visits.push({ url: entry.payload, from, to, answer });
            await after(entry.payload);
          }
          over = await isOver(found.length);
        }
      };
      await Promise.all(Array.from({ length: WORKERS }, worker));
    };

    const before: Visit[] = [];
    let [isOver, more] = [false, URLS_A_HOST];
    // For each URL it acknowledges, a worker discovers a new one, so the queue never runs out.
    const working = crawl(
      before,
      async () => isOver,
      (url) => calls.discover(filter, [new URL(`/${more++}`, url).href]),
    ).finally(() => (isOver = true));
    working.catch(() => undefined);
    const acknowledged = async (): Promise<void> => {
      const count = () => before.filter(({ url }) => doomed.has(hostOf(url))).length;
      const wanted = count() + SOME;
      await until('more URLs are acknowledged', async () => isOver || count() >= wanted);
    };
    await acknowledged();
    await failover.losing(victim, acknowledged);
    await answersAgain(filter);
    isOver = true;
    await working;

    const { hosts, entries } = await queueOf(filter);
    for (const { name, waiting, leased, delayed, dead, nextAt = 0 } of hosts) {
      const own = entries.filter(({ host }) => host === name);
      const found = (state: QueueEntry['state']) => own.filter((entry) => entry.state === state).length;
      expect({ name, waiting, leased }).toEqual({ name, waiting: found('waiting'), leased: found('leased') });
      expect(own).toHaveLength(waiting + leased);
      expect([delayed, dead]).toEqual([0, 0]);
      expect(leased).toBeLessThanOrEqual(1);
      // Each host with waiting URLs has a turn, or a lease whose end gives it one.
      expect(nextAt > 0).toBe(waiting > 0 && leased === 0);
      expect(nextAt).toBeLessThanOrEqual(clock.now() + PACE_MS);
    }
    const queued = entries.map(({ payload }) => payload);
    const done = new Set<string>();
    const lost = new Set<string>();
    for (const { url, answer } of before) {
      if (answer !== Settled.Done) continue;
      if (done.has(url) || queued.includes(url)) lost.add(url);
      done.add(url);
    }
    console.log(`${done.size} URLs acknowledged, ${lost.size} of them in the queue again`);
    expect(lost.size).toBeGreaterThan(10);
    expect([...lost].filter((url) => !doomed.has(hostOf(url)))).toEqual([]);

    // A lease whose acknowledgement is lost ends by itself.
    clock.advance(HELD_MS);
    const visits: Visit[] = [];
    await crawl(
      visits,
      async (found) => {
        if (found > 0) return false;
        clock.advance(PACE_MS);
        const { waiting = 0, leased = 0 } = (await store.describe(filter)).queue ?? {};
        return waiting + leased === 0;
      },
      () => Promise.resolve(),
    );
    expect(visits.filter(({ answer }) => answer !== Settled.Done)).toEqual([]);
    for (const { url } of visits) done.add(url);
    expect(all.filter((url) => !done.has(url))).toEqual([]);
    for (const name of names) {
      const own = visits.filter(({ url }) => hostOf(url) === `${name}.example`);
      const gaps = own
        .toSorted((a, b) => a.from - b.from)
        .map(({ from }, n, sorted) => from - (sorted[n - 1]?.to ?? -Infinity));
      expect(gaps.filter((gap) => gap < PACE_MS)).toEqual([]);
    }
  });
});
