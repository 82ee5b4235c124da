import { isDeepStrictEqual } from 'node:util';
import { positionsOf } from '#bloom';
import {
  Added,
  encodeExportFile,
  ExportFileReader,
  exportHeader,
  type Filter,
  type LeasedEntry,
  type Part,
  type Store,
} from '#store';
import { collect, pieces, specOf } from '../support/export-files.js';
import type { Random } from '../support/random.js';
import { itemOf, MOST_ITEMS } from './items.js';
import { LONGEST_MS } from './plan.js';
import { AgedLayers } from './layers.js';
import { MemoryEnvironment, SimulatedDisk } from './memory-environment.js';
import type { SetModel } from './set-model.js';
import { Violation } from './notes.js';
import { openStore, pump, type Time } from './open-store.js';
import type { Limits } from './limits.js';
import type { Contents, Sightings } from './sightings.js';
import { deadLettersOf } from './store-calls.js';

const EVERYTHING = 1_000;
const OPERATION = {
  id: 'copy',
  origin: 'caller',
  fingerprint: '',
  deadline: Infinity,
  repeat: false,
} as const;
const ITEMS = Array.from({ length: MOST_ITEMS }, (_, n) => itemOf(n));

/** A finished export, and the states of its set meanwhile. */
export interface Finished {
  readonly filter: Filter;
  readonly parts: readonly Part[];
  readonly seen: Sightings;
  /** The set, if it did not change. */
  readonly set: SetModel | undefined;
}

const CHUNK_BYTES = 1_000;
const LATER_MS = LONGEST_MS + 86_400_000;

/** Imports an exported set from a file into an empty store, kills that store, and checks that nothing is missing. */
export async function assertImported(
  { filter, parts, seen, set }: Finished,
  { limits, time, random }: { limits: Limits; time: Time; random: Random },
): Promise<void> {
  const disk = new SimulatedDisk(time);
  const open = async (at = time) => {
    const environment = new MemoryEnvironment(disk, { ran: () => undefined, ended: () => undefined });
    return {
      environment,
      store: await pump(openStore({ environment, disk }, limits, at, random), environment),
    };
  };
  const first = await open();
  const file = await collect(encodeExportFile(exportHeader(filter), each(parts)));
  const reader = new ExportFileReader(pieces(file, CHUNK_BYTES), () => time.now);
  const header = await reader.header();
  const made = await pump(
    first.store.transfer.import(specOf(header), reader.parts(header), OPERATION),
    first.environment,
  );
  const waits = filter.perHost && (await pump(hasToWait(first.store, made, time), first.environment));
  first.environment.crash();
  // By then, no host has to wait, and scheduled entries are due.
  const waiting = filter.kind === 'visited-set' && filter.maxAgeSeconds === undefined;
  const { store, environment } = await open(waiting ? { ...time, now: time.now + LATER_MS } : time);
  const found = { ...(await pump(contentsOf(store, made), environment)), waits };
  if (!set) {
    const why = seen.contradicting(found);
    if (why !== undefined) throw new Violation(`the copy of ${filter.name} has ${why}`);
    return;
  }
  const expected = expectedOf(set);
  if (!isDeepStrictEqual(found, expected))
    throw new Violation(
      `the copy of ${filter.name} has ${JSON.stringify(found)}, not ${JSON.stringify(expected)}`,
    );
}

/** Whether entries wait and their only host has to wait. */
async function hasToWait({ hosts }: Store, filter: Filter, { now }: Time): Promise<boolean> {
  const { nextAt = now } = (await hosts.get(filter, '')) ?? {};
  return nextAt > now;
}

/** The number of items that `maxUrls` limits, if all are discovered. */
async function limitedIn({ counters }: Store, filter: Filter): Promise<number> {
  const positions = positionsOf(ITEMS, filter.seed, filter.geometry);
  const names = ITEMS.map(() => '');
  const answers = await counters.add(filter, positions, OPERATION, { payloads: ITEMS, hosts: names });
  return answers.filter((answer) => answer === Added.Limited).length;
}

async function contentsOf(
  store: Store,
  filter: Filter,
): Promise<Contents & { removed: number; hidden: number | undefined; limited: number | undefined }> {
  const counts = await store.counters.check(
    filter,
    positionsOf(ITEMS, filter.seed, filter.geometry),
    Infinity,
  );
  const { added, removed, age } = await store.describe(filter);
  const contents = { found: ITEMS.filter((_, i) => counts[i] === 1), added, removed, hidden: age?.hidden };
  if (filter.kind !== 'visited-set') return { ...contents, queued: [], limited: undefined };
  const dead = await deadLettersOf(store, filter);
  const limits = filter.perHost && { maxPerHost: EVERYTHING };
  const leased: LeasedEntry[] = [];
  for (let more = true; more;) {
    const some = await store.queue.lease(
      filter,
      EVERYTHING,
      1_000,
      { ...OPERATION, id: `${leased.length}` },
      limits,
    );
    leased.push(...some);
    more = some.length > 0;
  }
  const attempts = [
    ...dead.entries.map(({ payload, attempt }) => `${payload} is dead after ${attempt}`),
    // The lease that found it counts as an attempt too.
    ...leased.map(({ payload, attempt }) => `${payload} waits after ${attempt - 1}`),
  ];
  const limited = filter.perHost && (await limitedIn(store, filter));
  return { ...contents, queued: attempts.sort(), limited };
}

/** An export has the items of the set itself, without those that only an open sync has. */
function expectedOf({ filter, layers, tally, queue, found }: SetModel): unknown {
  const { maxUrls = Infinity } = filter.perHost ?? {};
  const fresh = ITEMS.filter((item) => !layers.has(item)).length;
  return {
    limited: filter.perHost && Math.max(0, fresh - Math.max(0, maxUrls - found)),
    waits: filter.perHost && queue?.isPaused && queue.entries.some(({ place }) => place.in !== 'dead'),
    found: ITEMS.filter((item) => layers.has(item)),
    added: tally.added,
    removed: tally.removed,
    hidden: layers instanceof AgedLayers ? layers.hiddenItems : undefined,
    queued: (queue?.entries ?? [])
      .map(
        ({ item, attempt, place }) => `${item} ${place.in === 'dead' ? 'is dead' : 'waits'} after ${attempt}`,
      )
      .sort(),
  };
}

async function* each<T>(values: readonly T[]): AsyncGenerator<T, void, undefined> {
  yield* values;
}
