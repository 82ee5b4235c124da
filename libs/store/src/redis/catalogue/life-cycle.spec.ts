import { afterEach, describe, expect, it } from '@jest/globals';
import { filterSpec, keyed } from '../../../../../test/contract/calls.js';
import { startRedis, type RedisServer } from '../../../../../test/support/redis-server.js';
import { SYSTEM_RANDOM } from '../../random-source.js';
import { Allocation } from './allocation.js';
import { Catalogue, type CatalogueRecord } from './catalogue.js';
import { Connection } from '../connection/connection.js';
import { Generations } from './generations.js';
import { LifeCycle } from './life-cycle.js';

let server: RedisServer | undefined;
let connection: Connection | undefined;
afterEach(async () => {
  await connection?.close();
  await server?.stop();
});

/** Runs a twin of the request right after the first look for its record. */
class InterruptedCatalogue extends Catalogue {
  twin: (() => Promise<unknown>) | undefined;

  override async recall(...known: Parameters<Catalogue['recall']>): Promise<CatalogueRecord | undefined> {
    const record = await super.recall(...known);
    const { twin } = this;
    this.twin = undefined;
    await twin?.();
    return record;
  }
}

describe('a life-cycle operation whose twin is executed right behind the look for its record', () => {
  it('answers as its twin did, and is not done again', async () => {
    server = await startRedis();
    connection = new Connection({ url: server.url, timeoutMs: 5_000 });
    await connection.firstTry();
    const catalogue = new InterruptedCatalogue(connection, 5_000, 2 ** 20);
    const allocation = new Allocation(connection);
    const lifeCycleWith = (of: Catalogue) =>
      new LifeCycle(of, new Generations(of, allocation, SYSTEM_RANDOM));
    const lifeCycle = lifeCycleWith(catalogue);
    const other = lifeCycleWith(new Catalogue(connection, 5_000, 2 ** 20));
    const [spec, creating, clearing] = [filterSpec(), keyed(), keyed()];
    const generations: string[] = [];

    catalogue.twin = async () => generations.push((await other.create(spec, creating)).filter.generation);
    const { filter, created } = await lifeCycle.create(spec, creating);
    expect([created, filter.generation]).toEqual([true, generations[0]]);

    catalogue.twin = async () =>
      generations.push((await other.clear(spec.name, spec.kind, clearing)).generation);
    expect((await lifeCycle.clear(spec.name, spec.kind, clearing)).generation).toBe(generations[1]);
  });
});
