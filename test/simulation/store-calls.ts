import { positionsOf, type Positions } from '#bloom';
import type { Filter, HostView, LeasedEntry, Part, QueueEntry, Store } from '#store';
import { specOf } from '../support/export-files.js';
import type { Call, Exported } from './calls.js';
import { hostOf } from './items.js';
import { partsUntil } from './torn.js';

/** A call's answer, in the model's form. `raw` contains the ids. */
export interface Answer {
  readonly value: unknown;
  readonly filter?: Filter;
  readonly leased?: readonly LeasedEntry[];
  readonly letters?: readonly { readonly id: string; readonly payload: string }[];
  readonly listed?: readonly QueueEntry[];
  readonly sync?: string;
  readonly parts?: readonly Part[];
  /** Whether it was read in several pages, between which changes may happen. */
  readonly isPaged?: boolean;
}

const EVERYTHING = 1_000;
const NOTHING: Answer = { value: undefined };

/** `onRead` is called for each part that an import reads. */
export async function send(
  store: Store,
  filter: Filter | undefined,
  call: Call,
  onRead: () => void,
): Promise<Answer> {
  const { verb, spec, set: name, operation } = call;
  const { kind } = spec;
  if (verb === 'create') {
    const { filter, created } = await store.create(spec, operation);
    return { value: { generation: filter.generation, created }, filter };
  }
  if (verb === 'drop') {
    await store.drop(name, kind, operation);
    return NOTHING;
  }
  if (verb === 'clear') {
    const cleared = await store.clear(name, kind, operation);
    return { value: { generation: cleared.generation }, filter: cleared };
  }
  if (verb === 'import') {
    const { filter: exported, parts } = call.source as Exported;
    const source = partsUntil(parts, call.tear, onRead);
    const made = await store.transfer.import(specOf(exported, name), source, operation);
    return { value: { generation: made.generation }, filter: made };
  }
  if (verb === 'list') {
    const { filters, next } = await store.list(kind, call.max, call.after);
    return { value: { names: filters.map((filter) => filter.name), ...(next !== undefined && { next }) } };
  }
  if (verb === 'tend') {
    await store.syncs.tend();
    return NOTHING;
  }
  if (verb === 'open' || !filter) {
    const other = kind === 'filter' ? 'visited-set' : 'filter';
    const opened = await store.open(name, call.asOther ? other : kind);
    return { value: { generation: opened.generation, base: opened.base }, filter: opened };
  }
  return inFilter(store, filter, call);
}

async function inFilter(store: Store, filter: Filter, call: Call): Promise<Answer> {
  const { counters, queue, syncs } = store;
  const { items, operation, sync, max, ms } = call;
  const ids = call.held.map(({ id }) => id);
  const letters = call.letters.map(({ id }) => id);
  const listed = call.listed.map(({ id }) => id);
  const positions = (): Positions => positionsOf(items, filter.seed, filter.geometry);
  const hosts = filter.perHost && items.map(hostOf);
  const { priority, laterMs, ttlMs, onlyAbsent } = call;
  const queued = { payloads: items, hosts, priority, delayMs: laterMs, ttlMs };
  switch (call.verb) {
    case 'add':
      return bytes(counters.add(filter, positions(), operation, { hosts, ttlMs, onlyAbsent }));
    case 'discover':
      return bytes(counters.add(filter, positions(), operation, queued));
    case 'remove':
      return bytes(counters.remove(filter, positions(), operation));
    case 'check':
      return bytes(counters.check(filter, positions(), Infinity));
    case 'count':
      return bytes(counters.count(filter, positions(), Infinity));
    case 'lease': {
      const limits = call.maxPerHost === undefined ? undefined : { maxPerHost: call.maxPerHost };
      const leased = await queue.lease(filter, max, ms, operation, limits);
      return { value: leased, leased };
    }
    case 'ack':
      return bytes(queue.ack(filter, ids, operation, laterMs > 0 ? laterMs : undefined));
    case 'release': {
      const { countAttempt, hostDelayMs } = call;
      const release = { delayMs: ms, reason: 'released', countAttempt, hostDelayMs };
      return bytes(queue.release(filter, ids, operation, release));
    }
    case 'extend':
      return bytes(queue.extend(filter, ids, ms, operation));
    case 'put-back':
      return bytes(queue.putBack(filter, letters, operation));
    case 'purge':
      return bytes(queue.purge(filter, letters, operation));
    case 'dead-letters': {
      const { entries, isPaged } = await deadLettersOf(store, filter);
      return { value: entries, letters: entries, isPaged };
    }
    case 'entries': {
      const { entries, isPaged } = await entriesOf(store, filter, call);
      return { value: entries, listed: entries, isPaged };
    }
    case 'drop-entries':
      return bytes(queue.drop(filter, listed, operation));
    case 'forget-entries':
      return bytes(counters.remove(filter, positions(), operation, listed));
    case 'host': {
      const view = await store.hosts.get(filter, call.host);
      return { value: view ? [view] : [] };
    }
    case 'hosts': {
      const { hosts: views, isPaged } = await hostsOf(store, filter, max);
      return { value: views, isPaged };
    }
    case 'set-host':
      return { value: await store.hosts.set(filter, call.host, call.settings, operation) };
    case 'drop-host':
      return { value: await store.hosts.drop(filter, call.host, operation) };
    case 'open-sync': {
      const { id } = await syncs.open(filter, call.spec, operation);
      return { value: { id }, sync: id };
    }
    case 'keep':
      return bytes(syncs.keep(filter, sync, positions(), operation, hosts));
    case 'get-sync':
      return { value: (await syncs.get(filter, sync)).state };
    case 'commit-sync':
      return { value: (await syncs.commit(filter, sync, 1, Infinity)).state };
    case 'abandon-sync':
      return { value: (await syncs.abandon(filter, sync, Infinity)).state };
    case 'export': {
      const parts: Part[] = [];
      for await (const part of store.transfer.export(filter)) parts.push(part);
      return { value: parts.length, parts };
    }
    case 'describe':
      return { value: await store.describe(filter) };
    default:
      throw new TypeError(`a call has no set: ${call.verb}`);
  }
}

/** All dead letters, and whether they were read in several pages. */
export async function deadLettersOf({ queue }: Store, filter: Filter) {
  let page = await queue.deadLetters(filter, EVERYTHING);
  const entries = [...page.entries];
  const isPaged = page.next !== undefined;
  while (page.next !== undefined) {
    page = await queue.deadLetters(filter, EVERYTHING, page.next);
    entries.push(...page.entries);
  }
  return { entries, isPaged };
}

/** All entries that a query selects. */
export async function entriesOf(
  { queue }: Store,
  filter: Filter,
  { query, max }: Pick<Call, 'query' | 'max'>,
) {
  let page = await queue.entries(filter, query, max);
  const entries = [...page.entries];
  const isPaged = page.next !== undefined;
  while (page.next !== undefined) {
    page = await queue.entries(filter, query, max, page.next);
    entries.push(...page.entries);
  }
  return { entries, isPaged };
}

/** All hosts, each as it is on the last page that has it. */
export async function hostsOf({ hosts }: Store, filter: Filter, max: number) {
  let page = await hosts.list(filter, max);
  const found = new Map<string, HostView>(page.hosts.map((host) => [host.name, host]));
  const isPaged = page.next !== undefined;
  while (page.next !== undefined) {
    page = await hosts.list(filter, max, page.next);
    for (const host of page.hosts) found.set(host.name, host);
  }
  return { hosts: [...found.values()], isPaged };
}

async function bytes(call: Promise<Uint8Array>): Promise<Answer> {
  return { value: [...(await call)] };
}
