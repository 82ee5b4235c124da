import type {
  FilterDescription,
  LostFilter,
  LostVisitedSet,
  Queue,
  UnseenClient,
  VisitedSetDescription,
} from '#client';
import { hashOf } from './place.js';

/** As in the dashboard's addresses. */
export type Kind = 'sets' | 'filters';

/** Names of the kinds for people. */
export const KIND_NAMES: Readonly<Record<Kind, string>> = { sets: 'visited set', filters: 'filter' };

/** The set or filter that a screen is about. */
export interface Subject {
  readonly kind: Kind;
  readonly name: string;
}

/** Description of a set or filter, or of one whose data is lost. */
export type Described = FilterDescription | VisitedSetDescription | LostFilter | LostVisitedSet;
/** Description of one whose data isn't lost. */
export type Whole = FilterDescription | VisitedSetDescription;

/** A filter or a visited set in any state. */
export interface Entry {
  readonly kind: Kind;
  readonly described: Described;
}

/** True if the store has lost the data, so that the description has no numbers. */
export function isLost(described: Described): described is LostFilter | LostVisitedSet {
  return 'state' in described;
}

/** Its queue's counts, or undefined if it has no queue. */
export function queueOf(described: Described): VisitedSetDescription['queue'] | undefined {
  return 'queue' in described ? described.queue : undefined;
}

/** The number of URLs in a queue, or for one host. */
export function entriesIn({
  waiting,
  leased,
  delayed,
  scheduled,
  dead,
}: Pick<Queue, 'waiting' | 'leased' | 'delayed' | 'scheduled' | 'dead'>): number {
  return waiting + leased + delayed + scheduled + dead;
}

/** Its screen's address. */
export function linkTo({ kind, described }: Entry): string {
  return hashOf([kind, described.name]);
}

/** The client's handle for it. Both kinds have the calls that the dashboard needs. */
export function handleOf(
  client: UnseenClient,
  kind: Kind,
  name: string,
): ReturnType<UnseenClient['visitedSet']> | ReturnType<UnseenClient['filter']> {
  return kind === 'sets' ? client.visitedSet(name) : client.filter(name);
}

/** Its current layers' capacity, in items. */
export function roomOf(described: Described): number {
  if (isLost(described)) return described.capacity;
  return described.layers.reduce((sum, { capacity }) => sum + capacity, 0);
}

/** A set's or filter's state in words. */
export interface Condition {
  readonly is: 'lost' | 'over' | 'full' | 'syncing' | 'dead' | 'grown' | 'ageing';
  readonly text: string;
  readonly tone: 'bad' | 'warn' | 'info' | 'plain';
}

export const DATA_LOST: Condition = { is: 'lost', text: 'data lost', tone: 'bad' };

const NEARLY_FULL = 0.9;
/** No filter grows beyond this many layers. */
const MOST_LAYERS = 6;

/** All conditions of a set or filter, worst first. */
export function conditionsOf(described: Described): Condition[] {
  if (isLost(described)) return [DATA_LOST];
  const { items, overCapacity, growth, layers, sync } = described;
  const conditions: Condition[] = [];
  const grows = growth === 'auto' && layers.length < MOST_LAYERS;
  if (overCapacity) conditions.push({ is: 'over', text: 'over capacity', tone: 'bad' });
  else if (!grows && items >= NEARLY_FULL * roomOf(described))
    conditions.push({ is: 'full', text: 'nearly full', tone: 'warn' });
  if (sync) conditions.push({ is: 'syncing', text: 'syncing', tone: 'info' });
  if ((queueOf(described)?.dead ?? 0) > 0)
    conditions.push({ is: 'dead', text: 'dead letters', tone: 'warn' });
  if (layers.length > 1) conditions.push({ is: 'grown', text: `${layers.length} layers`, tone: 'plain' });
  if ('maxAgeSeconds' in described) conditions.push({ is: 'ageing', text: 'ageing', tone: 'plain' });
  return conditions;
}

const SEVERITY = { bad: 3, warn: 2, info: 1, plain: 0 } as const;

/** Rank of the worst condition, from 0, for sorting. */
export function severityOf(described: Described): number {
  return Math.max(0, ...conditionsOf(described).map(({ tone }) => SEVERITY[tone]));
}
