import type { Store } from '#store';
import type { StoreFixture, StoreHarness } from '../support/stores.js';

/** The store under test. The tests of a file share it, and use different names for their filters. */
export class Subject<H extends StoreHarness = StoreHarness> {
  private current: { readonly harness: H; store: Store } | undefined;

  constructor(private readonly fixture: StoreFixture<H>) {}

  /** Of the store. */
  get name(): string {
    return this.fixture.name;
  }

  get harness(): H {
    return this.set.harness;
  }

  get store(): Store {
    return this.set.store;
  }

  /** To be set after `reopen` and `damage` of the harness. */
  set store(store: Store) {
    this.set.store = store;
  }

  async setUp(): Promise<void> {
    const harness = await this.fixture.setUp();
    this.current = { harness, store: await harness.open() };
  }

  async tearDown(): Promise<void> {
    await this.current?.harness.tearDown();
  }

  private get set() {
    if (!this.current) throw new Error('the store is not set up');
    return this.current;
  }
}
