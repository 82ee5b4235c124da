import type { Random } from '../support/random.js';
import { mutates, type Operation, type Subject, type Verb } from './history.js';
import { planFor, type Planned } from './plan.js';

/** Number of items in use at a time, per filter. Few, so that several clients use the same item. */
const LIVE_ITEMS = 10;
/** Operations on an item until another replaces it. The limit keeps its history short enough to search. */
const CALLS_AN_ITEM = 14;
/** How often an item in the multiset may be added, so that its counters never reach 15. */
const ADDS_AN_ITEM = 10;
/** Checks on an item after others have replaced it, because old items must still be there. */
const LATE_CHECKS = 3;
const MAX_BATCH = 6;

const VERBS: Readonly<Record<Subject, readonly Verb[]>> = {
  set: ['add', 'add', 'add', 'add', 'check', 'check', 'remove', 'remove', 'remove', 'count'],
  multiset: ['add', 'add', 'add', 'add', 'check', 'remove', 'remove', 'remove', 'count', 'count'],
};

interface Item {
  readonly name: string;
  calls: number;
  adds: number;
}

/** Random operations. A seed always gives the same operations in the same order. */
export class Workload {
  private readonly live: Readonly<Record<Subject, Item[]>> = { set: [], multiset: [] };
  private readonly retired: Readonly<Record<Subject, Item[]>> = { set: [], multiset: [] };
  /** Operations made so far. */
  made = 0;
  private items = 0;

  constructor(private readonly random: Random) {}

  next(): Planned<Operation> {
    const subject = this.random.pick(['set', 'multiset'] as const);
    const retired = this.retired[subject];
    if (retired.length > 0 && this.random.below(20) === 0) return this.lateCheck(subject, retired);
    const verb = this.random.pick(VERBS[subject]);
    const count = 1 + this.random.below(MAX_BATCH);
    const items = Array.from({ length: count }, () => this.item(subject, verb));
    return { operation: this.operation(subject, verb, items), plan: planFor(this.random, mutates(verb)) };
  }

  /** An operation that the harness itself makes, on given items. */
  operation(subject: Subject, verb: Verb, items: readonly string[]): Operation {
    return { id: ++this.made, subject, verb, items };
  }

  private item(subject: Subject, verb: Verb): string {
    const live = this.live[subject];
    const place = this.random.below(LIVE_ITEMS);
    let item = live[place];
    if (item === undefined || item.calls === CALLS_AN_ITEM || item.adds === ADDS_AN_ITEM) {
      if (item !== undefined) this.retired[subject].push({ ...item, calls: 0 });
      live[place] = item = { name: `${subject} ${++this.items}`, calls: 0, adds: 0 };
    }
    item.calls++;
    if (verb === 'add' && subject === 'multiset') item.adds++;
    return item.name;
  }

  private lateCheck(subject: Subject, retired: Item[]): Planned<Operation> {
    const place = this.random.below(retired.length);
    const item = retired[place] as Item;
    if (++item.calls === LATE_CHECKS) retired.splice(place, 1);
    return { operation: this.operation(subject, 'check', [item.name]), plan: planFor(this.random, false) };
  }
}
