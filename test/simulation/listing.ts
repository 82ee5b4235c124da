import type { EntryQuery, EntryState, QueueEntry } from '#store';
import { placeKey } from './entry.js';
import type { QueueModel } from './queue.js';

/** A queue's entries during a call that lists them page by page. */
export class Listing {
  /** The entries that have stayed in their places so far, by place. */
  private stayed: ReadonlyMap<string, string> | undefined;
  private hasMoved = false;
  /** Whether the clock was set back so far that a lease or a delay counts as ended. */
  isAfterSetBack = false;
  private readonly seen = new Set<string>();
  /** The places in which an entry was seen, by its item, birth and state. */
  private readonly places = new Map<string, Set<string>>();
  /** Items whose scheduled entries are void, and may be listed until the store removes them. */
  private readonly unkept = new Set<string>();

  look(queue: QueueModel, query: EntryQuery): void {
    const now = new Map<string, string>();
    for (const entry of queue.entries) {
      const host = queue.hostOf(entry.item);
      const { state, dueAt, reason } = queue.stateNow(entry);
      if ((query.state ?? state) !== state || (query.host ?? host) !== host) continue;
      const { item, attempt, discoveredAt, place } = entry;
      const text = [item, state, attempt, discoveredAt, dueAt, reason, host].join(' ');
      now.set(JSON.stringify([item, place]), text);
      this.isAfterSetBack ||= queue.isTooFarAhead(entry);
      const name = nameOf(item, entry.birth, state);
      this.places.set(name, (this.places.get(name) ?? new Set()).add(placeKey(entry)));
    }
    for (const text of now.values()) this.seen.add(text);
    for (const item of queue.unkept) this.unkept.add(item);
    const before = this.stayed;
    this.stayed = before ? new Map([...now].filter(([place, text]) => before.get(place) === text)) : now;
    this.hasMoved ||= before !== undefined && (this.stayed.size < now.size || this.stayed.size < before.size);
    // If a sweep removes a void entry during the call, other entries in its row may be listed twice.
    this.hasMoved ||= queue.lanes.all.some(({ isVague }) => isVague);
  }

  /** The place in which a listed entry was seen. Undefined if it was seen in several places. */
  placeOf(item: string, birth: number, state: EntryState): string | undefined {
    const [place, ...others] = this.places.get(nameOf(item, birth, state)) ?? [];
    return others.length === 0 ? place : undefined;
  }

  /** The first contradiction between the list and the states during the call. Undefined if there is none. */
  contradicting(listed: readonly QueueEntry[]): string | undefined {
    const texts = listed.map(({ payload, state, attempt, discoveredAt, dueAt, reason, host }) =>
      [payload, state, attempt, discoveredAt, dueAt, reason, host ?? ''].join(' '),
    );
    const missing = [...(this.stayed?.values() ?? [])].find((text) => !texts.includes(text));
    if (missing !== undefined) return `no "${missing}", which stayed`;
    const wrong = listed.findIndex(
      ({ payload, state }, i) =>
        !this.seen.has(texts[i] as string) && !(state === 'scheduled' && this.unkept.has(payload)),
    );
    if (!this.hasMoved && this.unkept.size === 0 && listed.length !== this.stayed?.size)
      return `${listed.length} entries, not ${this.stayed?.size}`;
    return wrong < 0 ? undefined : `"${texts[wrong]}", which was never there`;
  }
}

const nameOf = (item: string, birth: number, state: EntryState): string => [item, birth, state].join(' ');
