import type { Clock, FilterKind } from '#store';
import { NewSeries, PREFIX_SHARE } from './new-series.js';

/** Maximum number of filters with their own series. */
export const MOST_FILTERS = 100;
/** How many of these places the filters of one prefix may have. */
export const MOST_OF_PREFIX = MOST_FILTERS * PREFIX_SHARE;
/** How often busy filters may take the places of others. */
export const ROUND_MS = 60_000;
/** A filter takes another one's place if it is this many times as busy. */
const TIMES_BUSIER = 2;
/**
 * Maximum number of filters without places whose items are counted until the next round: of callers without a prefix,
 * and the same number of callers with one.
 */
const MOST_CANDIDATES = 1_000;
/** How many of these one prefix may have. */
const MOST_CANDIDATES_OF_PREFIX = MOST_CANDIDATES * PREFIX_SHARE;

/** A filter, and the caller that uses it. `prefix`: empty if the caller may use all names. */
export interface Used {
  readonly kind: FilterKind;
  readonly name: string;
  readonly prefix: string;
}

interface Candidate extends Used {
  items: number;
}

/** A filter with its own series. */
export interface Place extends Used {
  /** Items per round, as a moving average. */
  activity: number;
  /** Items since the last round. */
  items: number;
  /** Items by verb and verdict. */
  readonly tallies: Map<string, number>;
}

/**
 * Chooses the filters that have their own series: those that are busiest in this process, and others while places are
 * free.
 *
 * Callers choose the names of filters. So the numbers of names at a time and per hour are bounded. Of the places, of
 * the new series for tenants, and of the candidates for places, a prefix gets at most PREFIX_SHARE. So however a tenant
 * uses, creates and deletes filters, new filters of others still get series, unless five prefixes do so at a time. A
 * filter loses its place only to one that is TIMES_BUSIER times as busy.
 */
export class BusyFilters {
  private readonly places = new Map<string, Place>();
  /** Filters without calls. They have series until a busy one needs the place. */
  private readonly idle = new Map<string, FilterKind>();
  private readonly candidates = new Map<string, Candidate>();
  /** Number of candidates by prefix. */
  private readonly candidatesOf = new Map<string, number>();
  private readonly newSeries: NewSeries;
  private roundAt: number;

  constructor(private readonly clock: Clock) {
    this.newSeries = new NewSeries(clock);
    this.roundAt = clock.monotonic();
  }

  /** The filters with series. */
  get shown(): { readonly kind: FilterKind; readonly name: string }[] {
    return [...this.busy, ...Array.from(this.idle, ([name, kind]) => ({ kind, name }))];
  }

  /** The filters that have had calls. */
  get busy(): Iterable<Place> {
    return this.places.values();
  }

  get hasRoom(): boolean {
    return this.places.size + this.idle.size < MOST_FILTERS;
  }

  /** Counts items of a call. Returns the filter's place, or undefined if it has none. */
  use(used: Used, items: number): Place | undefined {
    const place = this.placeOf(used);
    if (place) place.items += items;
    else this.note(used, items);
    return place;
  }

  /** Shows a filter without calls if there is room. */
  offer(kind: FilterKind, name: string): void {
    if (this.places.has(name) || this.idle.has(name) || !this.hasRoom) return;
    if (this.newSeries.takeIdle()) this.idle.set(name, kind);
  }

  /** Frees the place of a filter that no longer exists. It is no candidate for one either. */
  forget(name: string): void {
    this.places.delete(name);
    this.idle.delete(name);
    const candidate = this.candidates.get(name);
    if (candidate && this.candidates.delete(name)) this.countCandidate(candidate.prefix, -1);
  }

  /** Gives places to busier filters, at most once in ROUND_MS. */
  round(): void {
    const now = this.clock.monotonic();
    if (now - this.roundAt < ROUND_MS) return;
    this.roundAt = now;
    for (const place of this.places.values()) {
      place.activity = (place.activity + place.items) / 2;
      place.items = 0;
    }
    const busiest = [...this.candidates.values()].sort((a, b) => b.items - a.items);
    this.candidates.clear();
    this.candidatesOf.clear();
    for (const candidate of busiest) this.promote(candidate);
  }

  private placeOf(used: Used): Place | undefined {
    const place = this.places.get(used.name);
    if (place?.kind === used.kind) return place;
    // A filter of the other kind had this name.
    if (place) this.forget(used.name);
    return this.enter(used);
  }

  /** Gives a filter a place, if one is free or an idle filter has one. */
  private enter(used: Used): Place | undefined {
    if (this.places.size >= MOST_FILTERS || this.ofPrefix(used.prefix) >= MOST_OF_PREFIX) return undefined;
    if (!this.idle.delete(used.name)) {
      if (!this.newSeries.take(used.prefix)) return undefined;
      const [idle] = this.idle.keys();
      if (!this.hasRoom && idle !== undefined) this.idle.delete(idle);
    }
    return this.settle(used);
  }

  /** Gives a candidate a free place, or the place of the least busy filter if that is much less busy. */
  private promote(candidate: Candidate): void {
    const { name, items } = candidate;
    if (items === 0 || this.places.has(name)) return;
    const place = this.enter(candidate) ?? this.replace(candidate);
    if (place) place.activity = items;
  }

  private replace(candidate: Candidate): Place | undefined {
    const { name, items, prefix } = candidate;
    const isFull = this.ofPrefix(prefix) >= MOST_OF_PREFIX;
    let least: Place | undefined;
    for (const place of this.places.values()) {
      if ((!isFull || place.prefix === prefix) && !(least && least.activity <= place.activity)) least = place;
    }
    if (!least || items < TIMES_BUSIER * least.activity || !this.newSeries.take(prefix)) return undefined;
    this.places.delete(least.name);
    this.idle.delete(name);
    return this.settle(candidate);
  }

  private settle({ kind, name, prefix }: Used): Place {
    const place: Place = { kind, name, prefix, activity: 0, items: 0, tallies: new Map() };
    this.places.set(name, place);
    return place;
  }

  private note({ kind, name, prefix }: Used, items: number): void {
    const candidate = this.candidates.get(name);
    if (candidate) candidate.items += items;
    else if (this.hasRoomToNote(prefix)) {
      this.candidates.set(name, { kind, name, prefix, items });
      this.countCandidate(prefix, 1);
    }
  }

  private countCandidate(prefix: string, change: 1 | -1): void {
    this.candidatesOf.set(prefix, (this.candidatesOf.get(prefix) ?? 0) + change);
  }

  private hasRoomToNote(prefix: string): boolean {
    const own = this.candidatesOf.get(prefix) ?? 0;
    if (prefix === '') return own < MOST_CANDIDATES;
    const prefixed = this.candidates.size - (this.candidatesOf.get('') ?? 0);
    return own < MOST_CANDIDATES_OF_PREFIX && prefixed < MOST_CANDIDATES;
  }

  /** Number of places of a prefix's filters. 0 for callers that may use all names. */
  private ofPrefix(prefix: string): number {
    let count = 0;
    if (prefix !== '') for (const place of this.places.values()) if (place.prefix === prefix) count++;
    return count;
  }
}
