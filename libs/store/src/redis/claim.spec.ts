import { randomBytes } from 'node:crypto';
import { afterEach, describe, expect, it } from '@jest/globals';
import { filterSpec, made } from '../../../../test/contract/calls.js';
import { startRedis, type RedisServer } from '../../../../test/support/redis-server.js';
import { Allocation } from './allocation.js';
import { Catalogue } from './catalogue.js';
import { Claim } from './claim.js';
import { Connection } from './connection.js';
import type { CatalogueEntry } from './entry.js';
import { segmentTags } from './keys.js';

let server: RedisServer | undefined;
let connection: Connection | undefined;
afterEach(async () => {
  await connection?.close();
  await server?.stop();
});

const inTime = () => Date.now() + 5_000;

function entryOf(name: string): CatalogueEntry {
  const { seed, ...spec } = filterSpec({ name });
  const generation = randomBytes(8).toString('hex');
  return {
    ...{ ...spec, seed: Buffer.from(seed).toString('hex'), generation, createdAt: 0, itemsPerScript: 100 },
    ...{ tags: segmentTags(generation, spec.geometry.segments), state: 'creating', since: 0 },
  };
}

describe('a claim that another takes over while keys are made under it', () => {
  it('is not published, and leaves none of them', async () => {
    server = await startRedis();
    connection = new Connection({ url: server.url, timeoutMs: 5_000 });
    await connection.firstTry();
    const catalogue = new Catalogue(connection, 5_000, 2 ** 20);
    const allocation = new Allocation(connection);
    const [slow, quick] = [entryOf('seen'), entryOf('seen')];
    const claim = await Claim.take(catalogue, allocation, await catalogue.read('seen'), slow, inTime());
    await catalogue.set(await catalogue.read('seen'), quick, inTime());
    await claim?.allocate(0, inTime());
    const keysOfSlow = async () => connection?.client.call('KEYS', `*${slow.generation}*`);
    expect(await keysOfSlow()).not.toEqual([]);
    expect(await claim?.publish(made(), 'create')).toBeUndefined();
    expect(await keysOfSlow()).toEqual([]);
    expect((await catalogue.read('seen')).entry?.generation).toBe(quick.generation);
  });
});
