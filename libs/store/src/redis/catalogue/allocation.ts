import { type Geometry, segmentBytes } from '#bloom';
import { joinAll } from '../../join-all.js';
import { plannedLayers } from '../../planned-layers.js';
import type { Connection } from '../connection/connection.js';
import type { CatalogueEntry } from '../layout/entry.js';
import {
  allKeys,
  hiddenKey,
  layerKeys,
  type LayerPieces,
  owedKey,
  type QueueKeys,
  removedKey,
  segmentKeys,
} from '../layout/keys.js';
import { NO_LANE } from '../scripts/lane-records.js';
import { queueBytes } from '../scripts/queue-state.js';
import { createCellsScript, createMetaScript } from '../scripts/segment.js';

/** Creates and deletes the keys of segments. Both are safe to repeat. */
export class Allocation {
  constructor(private readonly connection: Connection) {}

  /**
   * Creates a segment's keys, for all layers in the entry. The cells come first and in one piece. A string that grows
   * in steps keeps up to 1 MiB of spare room forever (measured: 15 % of a 7 MiB segment). A string created whole keeps
   * none, but blocks the server for about 0.6 ms per MiB. If the cells exceeded the server's memory limit, the commands
   * for the later keys fail. Each key has its own command, because while a slot moves, a script on keys that don't
   * exist yet fails.
   */
  async allocate(entry: CatalogueEntry, tag: string, deadline: number): Promise<void> {
    const hosts = entry.perHost !== undefined;
    const keys = segmentKeys(tag, 0, hosts);
    for (let layer = 0; layer < (entry.made ?? 1); layer++) {
      await this.allocateLayer(entry, tag, layer, deadline);
    }
    const { caller, made } = keys.operations;
    const hashes = [caller.current, caller.previous, made.current, made.previous];
    await joinAll<unknown>([
      this.connection.mutate(createMetaScript, [keys.meta], [entry.generation, queueBytes(hosts)], deadline),
      ...hashes.map((key) => this.connection.write('hset', key, ['', ''], deadline)),
      ...(entry.kind === 'visited-set' ? this.allocateQueue(keys.queue, deadline) : []),
      ...(entry.maxAgeSeconds === undefined ? [] : [this.makeHidden(tag, 0, deadline)]),
    ]);
  }

  /** Creates a layer's cells in one segment of a new filter. */
  async allocateLayer(entry: CatalogueEntry, tag: string, layer: number, deadline: number): Promise<void> {
    const geometry = plannedLayers(entry)[layer]?.geometry;
    if (!geometry) throw new RangeError(`filter ${entry.name} has no layer ${layer}`);
    await this.makeLayer(tag, layer, geometry, entry.tags.length, deadline);
  }

  /**
   * Creates a layer's cells in one of `segments` segments. If they exceed the server's memory limit, Redis refuses the
   * command after them, which changes nothing.
   */
  async makeLayer(
    tag: string,
    number: number,
    geometry: Geometry,
    segments: number,
    deadline: number,
  ): Promise<void> {
    const last = segmentBytes(geometry) - 1;
    const keys = layerKeys(segmentKeys(tag), { number, pieces: geometry.segments / segments });
    for (const key of keys) await this.connection.mutate(createCellsScript, [key], [last], deadline);
    await this.connection.write('setrange', keys[0] as string, [0, ''], deadline);
  }

  /** Creates a segment's key for removals during the sync whose first layer is `base`. */
  async makeRemoved(tag: string, base: number, deadline: number): Promise<void> {
    await this.connection.write('hset', removedKey(segmentKeys(tag), base), ['', ''], deadline);
  }

  /** Creates a segment's key for queue entries that move during the sync whose first layer is `base`. */
  async makeOwed(tag: string, base: number, deadline: number): Promise<void> {
    await this.connection.write('zadd', owedKey(segmentKeys(tag), base), ['0', ''], deadline);
  }

  /** Creates a segment's key for hidden items, for the filter or sync whose first layer is `base`. */
  async makeHidden(tag: string, base: number, deadline: number): Promise<void> {
    await this.connection.write('zadd', hiddenKey(segmentKeys(tag), base), ['-inf', ''], deadline);
  }

  private allocateQueue(queue: QueueKeys, deadline: number): Promise<unknown>[] {
    const { chunks, leases, ends, delayed, dead, marks, oldMarks, hosts } = queue;
    const { connection } = this;
    const hashes = [chunks, leases, marks, oldMarks];
    const sorted = [ends, delayed, dead, ...(hosts ? [hosts.due] : [])];
    return [
      ...hashes.map((key) => connection.write('hset', key, ['', ''], deadline)),
      ...(hosts ? [connection.write('hset', hosts.lanes, ['', NO_LANE], deadline)] : []),
      ...sorted.map((key) => connection.write('zadd', key, ['-inf', ''], deadline)),
    ];
  }

  /**
   * Deletes all keys of segments with these layers. That includes queue keys, since a half-created filter may have been
   * a visited set. Each key has its own command, because while a slot moves, Redis refuses a command on several keys if
   * one is missing.
   */
  async free(tags: readonly string[], layers: readonly LayerPieces[], deadline: number): Promise<void> {
    for (const tag of tags) await this.unlink(allKeys(segmentKeys(tag, 0, true), true, layers), deadline);
  }

  /** Deletes the keys that these layers have in these segments. */
  async freeLayers(tags: readonly string[], layers: readonly LayerPieces[], deadline: number): Promise<void> {
    for (const tag of tags) {
      const keys = segmentKeys(tag);
      await this.unlink(
        layers.flatMap((layer) => [...layerKeys(keys, layer), hiddenKey(keys, layer.number)]),
        deadline,
      );
    }
  }

  /**
   * Deletes what an ended sync left in segments: layers (the first may be the sync's own), noted removals and moved
   * entries. `base` is the filter's first layer now. After a commit, that is the sync's first layer.
   */
  async freeSync(
    tags: readonly string[],
    layers: readonly LayerPieces[],
    base: number,
    deadline: number,
  ): Promise<void> {
    await this.freeLayers(tags, layers, deadline);
    const numbers = [base, ...layers.map(({ number }) => number)];
    for (const tag of tags) {
      const keys = segmentKeys(tag);
      await this.unlink(
        numbers.flatMap((number) => [removedKey(keys, number), owedKey(keys, number)]),
        deadline,
      );
    }
  }

  private async unlink(keys: readonly string[], deadline: number): Promise<void> {
    await joinAll(keys.map((key) => this.connection.write('unlink', key, [], deadline)));
  }
}
