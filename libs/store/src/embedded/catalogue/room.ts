import { filterBytes } from '#bloom';
import { StoreError } from '../../errors.js';
import { assertWithin } from '../../quota.js';
import type { FilterSpec, Quota, Usage } from '../../port/index.js';
import type { Memory, TakenRoom } from '../filters/memory.js';

/**
 * Room in a quota for a filter that is being made. It is held from before the filter's memory is reserved until the
 * filter exists or has failed, so that others that are being made cannot take it, too.
 */
export class Room implements TakenRoom {
  readonly name: string;
  bytes: number;
  private held: Set<TakenRoom> | undefined;
  private left = false;

  constructor(
    { name, geometry }: FilterSpec,
    private readonly quota: Quota | undefined,
  ) {
    this.name = name;
    this.bytes = filterBytes(geometry);
  }

  /**
   * Throws QUOTA_EXCEEDED if there is no room. Several creations of one name need room for one, as only one of them
   * gets it.
   */
  assert(memory: Memory): void {
    const { bytes, name, quota } = this;
    if (quota) assertWithin(quota, usageOf(memory, quota.prefix, name), { filters: 1, bytes });
  }

  /** False if there is no room. */
  tryTake(memory: Memory): boolean {
    try {
      this.take(memory);
      return true;
    } catch (error) {
      if (error instanceof StoreError) return false;
      throw error;
    }
  }

  /** Throws as `assert`. */
  take(memory: Memory): void {
    this.assert(memory);
    // The caller may have given up meanwhile.
    if (this.left) return;
    this.held = memory.rooms.add(this);
  }

  /** Takes room for another layer. Throws as `assert`; then nothing has changed. */
  grow(memory: Memory, bytes: number): void {
    this.bytes += bytes;
    try {
      this.assert(memory);
    } catch (error) {
      this.bytes -= bytes;
      throw error;
    }
  }

  /** Idempotent. */
  leave(): void {
    this.left = true;
    this.held?.delete(this);
  }
}

/** The filters that exist or are being made under a prefix, without the one named `except`. */
export function usageOf({ filters, rooms }: Memory, prefix: string, except?: string): Usage {
  const counts = (name: string): boolean => name !== except && name.startsWith(prefix);
  // There may be several rooms for one name.
  const making = new Map<string, number>();
  for (const { name, bytes } of rooms) {
    if (counts(name) && !filters.has(name)) making.set(name, Math.max(bytes, making.get(name) ?? 0));
  }
  let number = making.size;
  let bytes = 0;
  for (const size of making.values()) bytes += size;
  for (const { filter, bytes: held } of filters.values()) {
    if (!counts(filter.name)) continue;
    number++;
    bytes += held;
  }
  return { filters: number, bytes };
}
