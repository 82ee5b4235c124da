import type { Quota } from '../../port/index.js';
import type { Allocation } from './allocation.js';
import type { Catalogue } from './catalogue.js';
import type { HeldEntry } from './catalogue-change.js';
import type { CatalogueEntry } from '../layout/entry.js';

/** How often an operation shows that it is alive, in ms. */
const RENEW_MS = 5_000;

/** The entry of a new generation while its keys are created and filled. Until then, other calls wait. */
export class Claim {
  private renewedAt: number;

  constructor(
    private readonly catalogue: Catalogue,
    private readonly allocation: Allocation,
    private readonly held: HeldEntry,
  ) {
    this.renewedAt = catalogue.clock.monotonic();
  }

  get entry(): CatalogueEntry {
    return this.held.entry;
  }

  /** Sets the filter's number of layers, before their keys exist. Throws the same errors as HeldEntry.update. */
  async grow(made: number, deadline: number, quota: Quota | undefined): Promise<void> {
    await this.held.update({ ...this.entry, made }, deadline, quota);
  }

  async allocateLayer(segment: number, layer: number, deadline: number): Promise<void> {
    await this.allocation.allocateLayer(this.entry, this.entry.tags[segment] as string, layer, deadline);
  }

  async allocate(segment: number, deadline: number): Promise<void> {
    await this.allocation.allocate(this.entry, this.entry.tags[segment] as string, deadline);
  }

  /**
   * Shows that the work makes progress, at most every RENEW_MS. Throws FILTER_BUSY if another instance has taken over.
   */
  async renew(deadline: number): Promise<void> {
    const { clock } = this.catalogue;
    if (clock.monotonic() - this.renewedAt < RENEW_MS) return;
    await this.held.update({ ...this.entry, since: await this.catalogue.now(deadline) }, deadline);
    this.renewedAt = clock.monotonic();
  }
}
