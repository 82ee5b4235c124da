import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../../support/random.js';
import type { Answers } from '../answers.js';
import type { Client } from '../client.js';
import type { Leased } from '../queue-history.js';
import type { Plan } from '../plan.js';
import type { SyncedAnswers, SyncedOperation, SyncSeen } from './synced-history.js';
import type { SyncedWorkload } from './synced-workload.js';

/** The percentage of syncs that end by being abandoned. */
const ABANDONED = 20;
/** A sync on a set that ages stays open for at least this share of its age, so errors in ages can show. */
const OPEN_SHARE = 0.35;
/** How many URLs from former syncs to check again. */
const REMEMBERED = 400;
/** A fault that waits for an answer may strike up to this long after an opening or a commit was sent, in ms. */
const MOST_LEAD_MS = 30;

/**
 * The client that opens and ends a set's syncs, one after another. While a sync is open, it shares few of its URLs with
 * other clients.
 */
export class Conductor {
  private readonly remembered: string[] = [];

  constructor(
    private readonly client: Client<SyncedOperation, SyncedAnswers>,
    private readonly workload: SyncedWorkload,
    private readonly random: Random,
    private readonly answers: Answers,
  ) {}

  /** One sync: adds URLs, opens it, makes concurrent calls while it is open, ends it, and checks all URLs. */
  async cycle(): Promise<void> {
    const { workload } = this;
    const [old, listed, waiting, during] = [4, 2, 2, 5].map((count) => workload.fresh(count)) as [
      ...[string[], string[], string[], string[]],
    ];
    await this.perform({ verb: 'visit', urls: [...old, ...listed] });
    await this.perform({ verb: 'discover', urls: waiting, ...workload.ttl() });
    await this.lease();
    const sync = await this.open();
    workload.sync = sync;
    if (sync !== undefined) {
      const openSince = performance.now();
      await this.use(sync, old, listed, during);
      const openMs = (workload.set.maxAgeSeconds ?? 0) * 1_000 * OPEN_SHARE;
      await sleep(Math.max(0, openSince + openMs - performance.now()));
      await this.list(sync, during.slice(0, 2));
      workload.sync = undefined;
      await this.end(sync, this.random.below(100) < ABANDONED ? 'abandon' : 'commit');
    }
    const all = [...old, ...listed, ...waiting, ...during];
    this.remembered.push(...all);
    this.remembered.splice(0, Math.max(0, this.remembered.length - REMEMBERED));
    await this.perform({ verb: 'check', urls: [...new Set(this.remembered)] });
    workload.share(all.filter(() => this.random.below(3) === 0));
  }

  /** Two syncs without faults that exercise each rule at least once. */
  async close(repeat: (operation: SyncedOperation) => Promise<unknown>): Promise<void> {
    const { workload } = this;
    const [kept, forgotten, old, added] = [1, 2, 3, 4].map(() => workload.fresh(2)) as [
      ...[string[], string[], string[], string[]],
    ];
    const answered: SyncedOperation[] = [];
    const perform = async (draft: Parameters<SyncedWorkload['operation']>[0]) => {
      const operation = workload.operation(draft);
      answered.push(operation);
      return this.client.perform({
        operation,
        plan: { keyed: true, twin: false, retries: 9, repeat: 'at once' },
      });
    };
    await this.finish();
    await perform({ verb: 'visit', urls: [...kept, ...forgotten, ...old] });
    const queued = workload.fresh(3);
    await perform({ verb: 'discover', urls: queued });
    await this.perform({ verb: 'check', urls: kept });
    for (const end of ['commit', 'abandon'] as const) {
      await this.drain(perform);
      const opened = seen(await perform({ verb: 'open' }));
      const sync = opened?.id;
      if (sync === undefined) return;
      await perform({ verb: 'open' });
      await perform({ verb: 'list', sync, urls: [kept[0] as string, ...added], stream: false });
      await perform({ verb: 'list', sync, urls: [...kept, ...added], stream: true });
      await perform({ verb: 'visit', urls: [...workload.fresh(2), forgotten[0] as string] });
      await perform({ verb: 'forget', urls: forgotten });
      await perform(workload.settle('ack'));
      await perform({ verb: end, sync });
      this.remembered.push(...kept, ...forgotten, ...old, ...added, ...queued);
      await this.perform({ verb: 'check', urls: [...new Set(this.remembered)] });
      for (const operation of answered) await repeat(operation);
      added.splice(0, 2, ...workload.fresh(2));
    }
  }

  /** Ends the sync in progress, if any. Resolves to whether certainly none is in progress. */
  async finish(): Promise<boolean> {
    for (let tries = 0; tries < 10; tries++) {
      const sync = await this.open();
      if (sync === undefined) continue;
      if (await this.end(sync, 'abandon')) return true;
    }
    return false;
  }

  private async drain(
    perform: (draft: Parameters<SyncedWorkload['operation']>[0]) => Promise<unknown>,
  ): Promise<void> {
    const lease = (await perform(this.workload.lease())) as SyncedAnswers | undefined;
    if (lease && 'leased' in lease) this.leased(lease.leased);
  }

  /** Calls in random order while a sync is open. */
  private async use(sync: string, old: string[], listed: string[], during: string[]): Promise<void> {
    const { workload, random } = this;
    const [visited, visitedToo, gone, back] = old as [string, string, string, string];
    const calls = [
      () => this.list(sync, [...listed, ...during.slice(0, 3), gone]),
      () => this.list(sync, during.slice(1, 4)),
      () => this.perform({ verb: 'visit', urls: [visited, ...during.slice(4)], ...workload.ttl() }),
      () =>
        this.perform({ verb: 'visit', urls: [...workload.fresh(1), ...during.slice(4)], ...workload.ttl() }),
      () => this.perform({ verb: 'forget', urls: [gone, ...(random.below(2) === 0 ? [back] : [])] }),
      () => this.perform({ verb: 'discover', urls: [visitedToo, ...workload.fresh(1)], ...workload.ttl() }),
      () => this.perform(workload.settle('ack')),
      () => this.perform(workload.settle('release')),
      () => this.lease(),
    ];
    while (calls.length > 0) {
      const [call] = calls.splice(random.below(calls.length), 1);
      await call?.();
      await this.client.sendAgain();
    }
  }

  /** Returns the sync that is open afterwards, or undefined if none certainly is. */
  private async open(): Promise<string | undefined> {
    this.lead();
    const answers = seen(await this.perform({ verb: 'open' }));
    if (answers?.code === undefined) return answers?.state === 'open' ? answers.id : undefined;
    // This sync's opening got no answer. Ends the sync, whatever the result.
    if (answers.id !== undefined)
      await this.end(answers.id, this.random.pick(['commit', 'abandon'] as const));
    return undefined;
  }

  /** Resolves to whether the sync has ended. */
  private async end(sync: string, verb: 'commit' | 'abandon'): Promise<boolean> {
    this.lead();
    const answer = seen(await this.perform({ verb, sync }));
    for (let tries = 0; tries < 20; tries++) {
      const look = seen(await this.perform({ verb: 'look', sync }));
      const { state, code } = look ?? {};
      if (state === 'committed' || state === 'abandoned' || code === 'SYNC_NOT_FOUND') return true;
      if (state === 'open' && answer !== undefined) return false;
      await sleep(this.random.below(100));
    }
    return false;
  }

  private async list(sync: string, urls: readonly string[]): Promise<void> {
    await this.perform({ verb: 'list', sync, urls, stream: this.random.below(2) === 0 });
  }

  private async lease(): Promise<void> {
    const answers = await this.perform(this.workload.lease());
    if (answers !== undefined && 'leased' in answers) this.leased(answers.leased);
  }

  private leased(entries: readonly Leased[]): void {
    this.workload.leased(entries);
    this.remembered.push(...entries.map(({ url }) => url));
  }

  private perform(
    draft: Parameters<SyncedWorkload['operation']>[0] | SyncedOperation,
  ): Promise<SyncedAnswers | undefined> {
    const operation = 'id' in draft ? draft : this.workload.operation(draft);
    const reads = operation.verb === 'check' || operation.verb === 'look';
    return this.client.perform({ operation, plan: this.plan(reads) });
  }

  private plan(reads: boolean): Plan {
    if (reads) return { keyed: false, twin: false, retries: 0, repeat: 'never' };
    const repeat = this.random.pick(['never', 'at once', 'later', 'later'] as const);
    return { keyed: true, twin: this.random.below(6) === 0, retries: 5, repeat };
  }

  /** Triggers a fault that waits for an answer, so that it strikes during the next call. */
  private lead(): void {
    if (this.random.below(2) === 0) return;
    setTimeout(() => this.answers.came(), this.random.below(MOST_LEAD_MS)).unref();
  }
}

function seen(answers: SyncedAnswers | undefined): SyncSeen | undefined {
  return answers !== undefined && 'sync' in answers ? answers.sync : undefined;
}
