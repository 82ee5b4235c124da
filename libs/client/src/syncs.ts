import type { CommitSync, CommittedSync, OpenSync, Sync as SyncDescription } from './api-types.js';
import { pause } from './back-off.js';
import type { CallOptions, ChangeOptions, Verb } from './batches.js';
import type { Service } from './handle.js';
import { randomKey } from './random-key.js';
import { verb } from './verbs.js';

const [FIRST_POLL_MS, LAST_POLL_MS] = [50, 1_000];

/** The syncs of a filter or visited set: one at a time. `Word`: what an entry of the list is answered. */
export class Syncs<Word extends string> {
  constructor(
    private readonly service: Service,
    /** Of the set, from `/v1` on. */
    private readonly path: string,
    private readonly member: 'urls' | 'items',
  ) {}

  /**
   * Opens one; with a capacity or an error rate for the time after it. Throws ConflictError while another is open, and for a
   * multiset.
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

  /** A sync by its id. Asks nothing. */
  get(id: string): Sync<Word> {
    return new Sync(this.service, `${this.path}/syncs/${encodeURIComponent(id)}`, id, this.member);
  }
}

/** A sync: what it lists is kept, and all else is forgotten when it is committed. */
export class Sync<Word extends string> {
  /** Lists entries: those that are to be kept. One that is listed twice does no harm. Throws ConflictError when it is over. */
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
   * Forgets what was not listed, and resolves when that is done; with `dryRun` it tells what would be forgotten, and does nothing.
   * Throws WouldForgetError if that is more than is allowed.
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

  /** Gives it up: nothing is forgotten. Throws ConflictError when it is over. */
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
