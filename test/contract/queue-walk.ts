import { expect } from '@jest/globals';
import { LEASE_ENDED, RELEASED, Removed, Settled, type Filter, type QueueEntry } from '#store';
import { clock } from '../support/clock.js';
import { QueueModel } from '../support/queue-model.js';
import type { Random } from '../support/random.js';
import type { EntryCalls } from './entry-calls.js';
import { HELD_MS } from './host-calls.js';
import { OVER_MS, payloads } from './queue-calls.js';

/** Makes random calls on a queue and on its model. */
export class Walk {
  readonly model = new QueueModel(3);
  private readonly ids = new Map<string, string>();
  private made = 0;
  /** The entries as they were some steps ago. */
  private listed: QueueEntry[] = [];

  constructor(
    private readonly calls: EntryCalls,
    private readonly filter: Filter,
    private readonly random: Random,
  ) {}

  async step(): Promise<void> {
    const steps = [
      () => this.discover(),
      () => this.lease(HELD_MS),
      () => this.lease(HELD_MS),
      () => this.endLease(),
      () => this.settle('ack'),
      () => this.settle('release'),
      () => this.settle('delay'),
      () => this.settle('put off'),
      () => this.forget(),
      () => this.drop(),
      () => this.putBack(),
    ];
    await this.random.pick(steps)();
    expect(payloads(await this.entries()).sort()).toEqual(this.model.items.sort());
  }

  private async discover(): Promise<void> {
    // Some keys are known, and may have been forgotten.
    const keys = Array.from({ length: 1 + this.random.below(8) }, () =>
      this.random.below(2) === 0 ? `item ${this.made++}` : `item ${this.random.below(this.made + 1)}`,
    );
    const distinct = [...new Set(keys)];
    const answers = await this.calls.discover(this.filter, distinct);
    this.model.discover(distinct.filter((_, i) => answers[i] === 1));
  }

  private async lease(ms: number): Promise<string[]> {
    const max = 1 + this.random.below(6);
    const leased = await this.calls.lease(this.filter, max, ms);
    const expected = this.model.lease(max);
    expect(leased.map(({ payload, attempt }) => ({ item: payload, attempt }))).toEqual(expected);
    for (const { payload, id } of leased) this.ids.set(payload, id);
    return payloads(leased);
  }

  /** A lease that ends before the next call. */
  private async endLease(): Promise<void> {
    const leased = await this.lease(1);
    clock.advance(OVER_MS);
    // The model brings the entry back now. In fact, the next change that queues or leases does, before it adds entries
    // of its own.
    this.model.bringBack(this.model.settle(leased), LEASE_ENDED);
  }

  private async settle(how: 'ack' | 'release' | 'delay' | 'put off'): Promise<void> {
    const { model, random } = this;
    const some = model.held.filter(() => random.below(3) === 0).map(({ item }) => item);
    const ids = some.map((item) => ({ id: this.ids.get(item)! }));
    const reason = random.pick(['', 'a reason', 'another']);
    const countAttempt = how !== 'put off';
    const release = { reason, delayMs: how === 'delay' ? 1 : 0, countAttempt };
    const answers =
      how === 'ack'
        ? await this.calls.ack(this.filter, ids)
        : await this.calls.release(this.filter, ids, release);
    expect(answers).toEqual(some.map(() => Settled.Done));
    if (how === 'delay') clock.advance(OVER_MS);
    const settled = model.settle(some);
    if (how !== 'ack') model.bringBack(countAttempt ? settled : model.uncounted(settled), reason || RELEASED);
  }

  private async forget(): Promise<void> {
    const keys = Array.from(
      { length: 1 + this.random.below(6) },
      () => `item ${this.random.below(this.made + 1)}`,
    );
    const distinct = [...new Set(keys)];
    await this.calls.forget(this.filter, distinct);
    this.model.forget(new Set(distinct));
  }

  /** Drops and forgets some entries that an earlier step listed. Only entries that didn't move are found. */
  private async drop(): Promise<void> {
    const now = new Set((await this.entries()).map(({ id }) => id));
    const some = this.listed.filter(() => this.random.below(8) === 0);
    const forgets = this.random.below(2) === 0;
    const answers = forgets
      ? await this.calls.removeListed(this.filter, some)
      : await this.calls.drop(this.filter, some);
    const gone = forgets ? Removed.Moved : Settled.Unknown;
    expect(answers).toEqual(some.map(({ id }) => (now.has(id) ? 1 : gone)));
    this.model.forget(new Set(payloads(some.filter(({ id }) => now.has(id)))));
  }

  private async entries(): Promise<QueueEntry[]> {
    const found = await this.calls.list(this.filter, {}, 1 + this.random.below(40));
    if (this.random.below(4) === 0) this.listed = found;
    return found;
  }

  private async putBack(): Promise<void> {
    const chosen = this.model.dead.filter(() => this.random.below(2) === 0).map(({ item }) => item);
    this.model.putBack(await this.calls.putBack(this.filter, new Set(chosen)));
  }
}
