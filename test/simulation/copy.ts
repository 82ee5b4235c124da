import { isDeepStrictEqual } from 'node:util';
import { positionsOf } from '#bloom';
import {
  Added,
  encodeExportFile,
  ExportFileReader,
  exportHeader,
  type Filter,
  type HostView,
  type Part,
  type QueueEntry,
  type Store,
} from '#store';
import { collect, pieces, specOf } from '../support/export-files.js';
import type { Random } from '../support/random.js';
import { hostOf, HOSTS, ITEMS } from './items.js';
import { AgedLayers } from './layers.js';
import { MemoryEnvironment, SimulatedDisk } from './memory-environment.js';
import { wrongView, type SetModel } from './set-model.js';
import { Violation } from './notes.js';
import { openStore, pump, type Time } from './open-store.js';
import type { Limits } from './limits.js';
import type { Contents, Sightings } from './sightings.js';
import { entriesOf, hostsOf } from './store-calls.js';

const EVERYTHING = 1_000;
const OPERATION = {
  id: 'copy',
  origin: 'caller',
  fingerprint: '',
  deadline: Infinity,
  repeat: false,
} as const;

/** A finished export, and its set's states during it. */
export interface Finished {
  readonly filter: Filter;
  readonly parts: readonly Part[];
  readonly seen: Sightings;
  /** The set, if it did not change. */
  readonly set: SetModel | undefined;
}

const CHUNK_BYTES = 1_000;

/** Imports an exported set from a file into an empty store, kills that store, and checks that nothing is missing. */
export async function assertImported(
  { filter, parts, seen, set }: Finished,
  { limits, time, random }: { limits: Limits; time: Time; random: Random },
): Promise<void> {
  const disk = new SimulatedDisk(time);
  const open = async () => {
    const environment = new MemoryEnvironment(disk, { ran: () => undefined, ended: () => undefined });
    return {
      environment,
      store: await pump(openStore({ environment, disk }, limits, time, random), environment),
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
  first.environment.crash();
  const { store, environment } = await open();
  const { hosts, ...found } = await pump(contentsOf(store, made), environment);
  if (!set) {
    const why = seen.contradicting(found, time.now);
    if (why !== undefined) throw new Violation(`the copy of ${filter.name} has ${why}`);
    return;
  }
  const expected = expectedOf(set);
  if (!isDeepStrictEqual(found, expected))
    throw new Violation(
      `the copy of ${filter.name} has ${JSON.stringify(found)}, not ${JSON.stringify(expected)}`,
    );
  const copy = set.imported(filter, time, limits);
  copy.queue?.lanes.place();
  const expectedHosts = filter.perHost ? HOSTS.map((host) => copy.viewOf(host)) : [];
  const wrong = wrongView(expectedHosts, hosts);
  if (wrong !== undefined) throw new Violation(`in the copy of ${filter.name}, ${wrong}`);
}

async function contentsOf(store: Store, filter: Filter): Promise<Contents & Rest> {
  const positions = positionsOf(ITEMS, filter.seed, filter.geometry);
  const counts = await store.counters.check(filter, positions, Infinity);
  const { added, removed, age } = await store.describe(filter);
  const contents = { found: ITEMS.filter((_, i) => counts[i] === 1), added, removed, hidden: age?.hidden };
  if (filter.kind !== 'visited-set') return { ...contents, queued: [], limited: undefined, hosts: [] };
  const { entries } = await entriesOf(store, filter, { query: {}, max: EVERYTHING });
  const { hosts } = filter.perHost ? await hostsOf(store, filter, EVERYTHING) : { hosts: [] };
  return { ...contents, queued: entries.map(textOf).sort(), hosts, limited: await limitedIn(store, filter) };
}

interface Rest {
  readonly removed: number;
  readonly hidden: number | undefined;
  /** In a set with `perHost`, how many items `maxUrls` would limit if all were discovered. */
  readonly limited: number | undefined;
  readonly hosts: readonly HostView[];
}

const textOf = ({ payload, state, attempt, discoveredAt }: Omit<QueueEntry, 'id'>): string =>
  `${payload} ${state} after ${attempt} since ${discoveredAt}`;

async function limitedIn({ counters }: Store, filter: Filter): Promise<number | undefined> {
  if (!filter.perHost) return undefined;
  const positions = positionsOf(ITEMS, filter.seed, filter.geometry);
  const queued = { payloads: ITEMS, hosts: ITEMS.map(hostOf) };
  const answers = await counters.add(filter, positions, OPERATION, queued);
  return answers.filter((answer) => answer === Added.Limited).length;
}

/** An export has the set's own items, without those that only an open sync has. */
function expectedOf(set: SetModel): unknown {
  const { filter, layers, tally, queue } = set;
  const queued = queue
    ? queue.entries.map((entry) => textOf({ ...entry, payload: entry.item, ...queue.stateNow(entry) }))
    : [];
  return {
    limited: filter.perHost && set.limited(ITEMS).size,
    found: ITEMS.filter((item) => layers.has(item)),
    added: tally.added,
    removed: tally.removed,
    hidden: layers instanceof AgedLayers ? layers.hiddenItems : undefined,
    queued: queued.sort(),
  };
}

async function* each<T>(values: readonly T[]): AsyncGenerator<T, void, undefined> {
  yield* values;
}
