import type { Quota } from '../../port/index.js';
import type { Allocation } from './allocation.js';
import type { Catalogue } from './catalogue.js';
import type { HeldEntry } from './catalogue-change.js';
import type { CatalogueEntry } from '../layout/entry.js';

/** How often an operation shows that it is alive. */
const RENEW_MS = 5_000;

/** The entry of a new generation, held while its keys are made and filled. Others wait meanwhile. */
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

  /** Has the filter so many layers; their keys are still to be made. Throws as HeldEntry.update. */
  async grow(made: number, deadline: number, quota: Quota | undefined): Promise<void> {
    await this.held.update({ ...this.entry, made }, deadline, quota);
  }

  async allocateLayer(segment: number, layer: number, deadline: number): Promise<void> {
    await this.allocation.allocateLayer(this.entry, this.entry.tags[segment] as string, layer, deadline);
  }

  async allocate(segment: number, deadline: number): Promise<void> {
    await this.allocation.allocate(this.entry, this.entry.tags[segment] as string, deadline);
  }

  /** Shows, once it is due, that the work goes on. Throws FILTER_BUSY if another has taken over. */
  async renew(deadline: number): Promise<void> {
    const { clock } = this.catalogue;
    if (clock.monotonic() - this.renewedAt < RENEW_MS) return;
    await this.held.update({ ...this.entry, since: await this.catalogue.now(deadline) }, deadline);
    this.renewedAt = clock.monotonic();
  }
}
