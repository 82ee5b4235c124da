import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../../support/random.js';
import { mutates, type Answer, type Subject, type Verb } from '../history.js';
import { ITEM_MODELS } from '../item-model.js';

/** The defects, constant or occasional. Each breaks a guarantee. */
export const DEFECTS = [
  'drops an acknowledged add',
  'drops an acknowledged removal',
  'tests and adds in two steps',
  'reports an absent item as removed',
  'answers a retry without the record',
  'answers a retry from the record but changes the item again',
  'records only answers that it could deliver',
  'executes a broken request again later',
  'adds copies in one request as separate items',
  'reads the state from some changes ago',
  'comes back from a restart without the last changes',
  'miscounts its items',
  'answers 500',
  'answers 503 STORE_DATA_LOST',
  'answers 503 without Retry-After',
  'answers under a different operation id',
] as const;

export type Defect = (typeof DEFECTS)[number];

export interface Batch {
  readonly subject: Subject;
  readonly verb: Verb;
  readonly items: readonly string[];
  readonly key: string;
}

/** Delay before an operation is executed a second time. */
export const LATER_MS = 30;
/** The number of changes that a lagging reader has not seen yet. */
const LAG = 50;
const LOST_AT_RESTART = 200;
/** How often an occasional defect shows, in percent. */
const MISTAKES = 20;

interface Change {
  readonly subject: Subject;
  readonly item: string;
  readonly before: number;
}

/** The items in a run's filters and the records of their operations, in memory, with at most one defect. */
export class FaultyItems {
  private readonly counts = { set: new Map<string, number>(), multiset: new Map<string, number>() };
  private readonly records = new Map<string, readonly Answer[]>();
  private readonly changes: Change[] = [];

  constructor(
    private readonly random: Random,
    private readonly defect: Defect | undefined,
  ) {}

  /** The item count in a filter's description. */
  held(subject: Subject): number {
    const items = [...this.counts[subject].values()].filter((count) => count > 0).length;
    return this.defect === 'miscounts its items' ? items + 1 : items;
  }

  /** Executes a batch, or answers it from its record. `answered` tells whether the caller will get the answer. */
  async execute(batch: Batch, answered: boolean): Promise<readonly Answer[]> {
    if (!mutates(batch.verb)) return this.read(batch);
    const name = `${batch.verb} ${batch.key}`;
    const record = this.records.get(name);
    if (record && this.defect !== 'answers a retry without the record') {
      if (this.isNow('answers a retry from the record but changes the item again')) this.change(batch);
      return record;
    }
    const inSteps = this.defect === 'tests and adds in two steps';
    const results = inSteps ? await this.changeInSteps(batch) : this.change(batch);
    if (answered || this.defect !== 'records only answers that it could deliver')
      this.records.set(name, results);
    if (!answered && this.defect === 'executes a broken request again later') {
      setTimeout(() => this.change(batch), LATER_MS);
    }
    return results;
  }

  /** Loses the last changes, if that is the defect. */
  restart(): void {
    if (this.defect !== 'comes back from a restart without the last changes') return;
    for (const { subject, item, before } of this.changes.slice(-LOST_AT_RESTART).reverse()) {
      this.counts[subject].set(item, before);
    }
  }

  /** Whether the defect shows now. */
  isNow(defect: Defect): boolean {
    return this.defect === defect && this.random.below(100) < MISTAKES;
  }

  /** The operation id in an answer. */
  idOf({ key }: Batch): string {
    return this.isNow('answers under a different operation id') ? randomUUID() : key;
  }

  private read({ subject, verb, items }: Batch): readonly Answer[] {
    const lagging = this.defect === 'reads the state from some changes ago';
    return items.map((item) => {
      const count = lagging ? this.countBefore(subject, item) : this.countOf(subject, item);
      return verb === 'count' ? count : count > 0;
    });
  }

  private change({ subject, verb, items }: Batch): readonly Answer[] {
    const before = new Map(items.map((item) => [item, this.countOf(subject, item)]));
    return items.map((item) => {
      const apart = verb === 'add' && this.isNow('adds copies in one request as separate items');
      const count = apart ? (before.get(item) ?? 0) : this.countOf(subject, item);
      const effect = ITEM_MODELS[subject](count, verb, 1);
      const dropped = this.isNow(
        verb === 'add' ? 'drops an acknowledged add' : 'drops an acknowledged removal',
      );
      if (!dropped) this.put(subject, item, effect.count);
      if (verb === 'add') return effect.answer === 'true';
      return this.isNow('reports an absent item as removed') ? 'removed' : effect.answer;
    });
  }

  /** Other calls may come between the test and the change. */
  private async changeInSteps(batch: Batch): Promise<readonly Answer[]> {
    const { subject, verb, items } = batch;
    const tested = items.map((item) => this.countOf(subject, item));
    await sleep(2);
    const answers = this.change(batch);
    return verb === 'add' ? items.map((item, i) => tested[i] === 0 && items.indexOf(item) === i) : answers;
  }

  private put(subject: Subject, item: string, count: number): void {
    this.changes.push({ subject, item, before: this.countOf(subject, item) });
    this.counts[subject].set(item, count);
  }

  private countOf(subject: Subject, item: string): number {
    return this.counts[subject].get(item) ?? 0;
  }

  private countBefore(subject: Subject, item: string): number {
    const later = this.changes.slice(-LAG).find((one) => one.subject === subject && one.item === item);
    return later?.before ?? this.countOf(subject, item);
  }
}
