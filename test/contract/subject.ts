import type { Store } from '#store';
import type { StoreFixture, StoreHarness, StoreLimits } from '../support/stores.js';

/** The store under test. Many tests share it, and use different names for their filters. */
export class Subject<H extends StoreHarness = StoreHarness> {
  private current: { readonly harness: H; store: Store } | undefined;
  /** How many tests have used the current place of data. */
  private tests = 0;

  constructor(private readonly fixture: StoreFixture<H>) {}

  /** The store's name. */
  get name(): string {
    return this.fixture.name;
  }

  /** The number of runs of segments of sets with `perHost`. */
  get spread(): number {
    return this.fixture.spread;
  }

  get harness(): H {
    return this.set.harness;
  }

  get store(): Store {
    return this.set.store;
  }

  /** Set after the harness's `damage` was called. */
  set store(store: Store) {
    this.set.store = store;
  }

  async setUp(limits?: StoreLimits): Promise<void> {
    const harness = await this.fixture.setUp();
    this.current = { harness, store: await harness.open(limits) };
  }

  /** Closes the stores and opens a new one on the same data. */
  async reopen(limits?: StoreLimits): Promise<void> {
    this.store = await this.harness.reopen(limits);
  }

  /** Moves to a new place of data once enough tests have used the current one. */
  async testEnded(): Promise<void> {
    this.tests++;
    if (this.tests < (this.fixture.testsAPlace ?? Infinity)) return;
    this.tests = 0;
    await this.tearDown();
    await this.setUp();
  }

  async tearDown(): Promise<void> {
    await this.current?.harness.tearDown();
  }

  private get set() {
    if (!this.current) throw new Error('the store is not set up');
    return this.current;
  }
}
