import type { CommitSync, CommittedSync, OpenSync, Sync as SyncDescription } from './api-types.js';
import { pause } from './back-off.js';
import type { CallOptions, ChangeOptions, Verb } from './batches.js';
import type { Service } from './handle.js';
import { ISSUED, partOfPath } from './path.js';
import { randomKey } from './random-key.js';
import { verb } from './verbs.js';

const [FIRST_POLL_MS, LAST_POLL_MS] = [50, 1_000];

/**
 * The syncs of a filter or visited set. Only one can be open at a time. `Word`: the result for an entry in the input
 * list.
 */
export class Syncs<Word extends string> {
  constructor(
    private readonly service: Service,
    /** The set's path, which starts with `/v1`. */
    private readonly path: string,
    private readonly member: 'urls' | 'items',
  ) {}

  /**
   * Opens a sync. A capacity or an error rate applies from the commit on. Throws ConflictError if another sync is open,
   * and for a multiset.
   */
  async open(
    asked: OpenSync = {},
    { idempotencyKey = randomKey(), signal }: ChangeOptions = {},
  ): Promise<Sync<Word>> {
    const { id } = await this.service.requests.json<SyncDescription>({
      method: 'POST',
      path: `${this.path}/syncs`,
      json: asked,
      key: idempotencyKey,
      repeatable: true,
      signal,
    });
    return this.get(id);
  }

  /** Returns a handle on a sync by its id. Doesn't call the service. */
  get(id: string): Sync<Word> {
    return new Sync(this.service, `${this.path}/syncs/${partOfPath(id, ISSUED)}`, id, this.member);
  }
}

/** A sync. Its commit forgets all entries that were not listed with `keep`. */
export class Sync<Word extends string> {
  /** Lists entries to keep. You can list an entry twice. Throws ConflictError if the sync has ended. */
  readonly keep: Verb<string, Word, ChangeOptions>;

  constructor(
    private readonly service: Service,
    private readonly path: string,
    readonly id: string,
    member: 'urls' | 'items',
  ) {
    this.keep = verb(service.batches, { path: `${path}/${member}`, member, mutates: true });
  }

  describe({ signal }: CallOptions = {}): Promise<SyncDescription> {
    return this.service.requests.json({ method: 'GET', path: this.path, repeatable: true, signal });
  }

  /**
   * Forgets all entries that were not listed, and resolves when the sync is committed. With `dryRun`, only shows the
   * effect. Throws WouldForgetError if this is more than the sync may forget.
   */
  async commit(
    asked: CommitSync = {},
    { idempotencyKey = randomKey(), signal }: ChangeOptions = {},
  ): Promise<CommittedSync> {
    let sync = await this.service.requests.json<CommittedSync>({
      method: 'POST',
      path: `${this.path}/commit`,
      json: asked,
      key: idempotencyKey,
      repeatable: true,
      signal,
    });
    for (let ms = FIRST_POLL_MS; sync.state === 'committing'; ms = Math.min(2 * ms, LAST_POLL_MS)) {
      await pause(ms, signal);
      sync = { ...sync, ...(await this.describe({ ...(signal && { signal }) })) };
    }
    return sync;
  }

  /** Abandons the sync and forgets nothing. Throws ConflictError if the sync has ended. */
  async abandon({ idempotencyKey = randomKey(), signal }: ChangeOptions = {}): Promise<void> {
    await this.service.requests.json({
      method: 'DELETE',
      path: this.path,
      key: idempotencyKey,
      repeatable: true,
      signal,
    });
  }
}
