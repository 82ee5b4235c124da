import type { SyncPlan } from '../../port/index.js';
import { type CatalogueEntry, tokenOf } from './entry.js';
import { LayerStack } from './layer-stack.js';

/** A filter's sync, as far as this process knows. */
export interface KnownSync {
  readonly id: string;
  readonly plan: SyncPlan;
  /** Number of its first layer. */
  readonly base: number;
  /** Milliseconds since the epoch. */
  readonly openedAt: number;
  readonly stack: LayerStack;
}

/**
 * What this process knows about a handle's generation: the number of layers, the sync, and which segments take part in
 * it. Other instances change these facts, so they may be stale here. A script that gets stale facts changes nothing and
 * reports this. The process then reads the facts again.
 */
export class KnownState {
  /** The filter's own layers. */
  readonly stack: LayerStack;
  private current: KnownSync | undefined;
  /** Per segment: 1 if it is known to take part in the sync. */
  private readonly parts: Uint8Array;

  constructor(private readonly opened: CatalogueEntry) {
    const { tags, base = 0, made = 1, sync } = opened;
    this.stack = new LayerStack(opened, base, made, tags.length);
    this.parts = new Uint8Array(tags.length);
    this.learn(opened);
    // The stage is `open` once all segments take part.
    if (sync?.stage === 'open') this.parts.fill(1);
  }

  get sync(): KnownSync | undefined {
    return this.current;
  }

  /** Notes this generation's state in the catalogue. */
  learn({ made = 1, sync }: Pick<CatalogueEntry, 'made' | 'sync'>): void {
    this.stack.grewTo(made);
    if (sync?.id === this.current?.id) {
      this.current?.stack.grewTo(sync?.made ?? 1);
      return;
    }
    this.parts.fill(0);
    const stack = sync && new LayerStack(sync.plan, sync.base, sync.made ?? 1, this.parts.length);
    this.current = sync &&
      stack && {
        id: sync.id,
        plan: sync.plan,
        base: sync.base,
        openedAt: sync.openedAt,
        stack,
      };
  }

  /** Notes that all segments take part in the sync, according to the catalogue. */
  takePart(): void {
    if (this.current) this.parts.fill(1);
  }

  /** Learns from a segment's token, if it can belong to this generation, whether the segment takes part. */
  sees(segment: number, token: string | null): void {
    if (token === tokenOf(this.opened)) this.parts[segment] = 0;
    else if (this.current && token === tokenOf(this.opened, this.current.id)) this.parts[segment] = 1;
  }

  /** True if all segments are known to take part in this sync. */
  takesPartIn(id: string): boolean {
    return this.current?.id === id && !this.parts.includes(0);
  }

  /** The sync, if a segment is known to take part in it. */
  syncIn(segment: number): KnownSync | undefined {
    return this.parts[segment] === 1 ? this.current : undefined;
  }
}
