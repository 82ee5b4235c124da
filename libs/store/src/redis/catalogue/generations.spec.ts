import { randomBytes } from 'node:crypto';
import { afterEach, describe, expect, it } from '@jest/globals';
import { deadline, filterSpec, made } from '../../../../../test/contract/calls.js';
import { startRedis, type RedisServer } from '../../../../../test/support/redis-server.js';
import { SYSTEM_RANDOM } from '../../random-source.js';
import { Allocation } from './allocation.js';
import { Catalogue } from './catalogue.js';
import { carryOut } from './catalogue-change.js';
import type { Claim } from './claim.js';
import { Connection } from '../connection/connection.js';
import type { CatalogueEntry } from '../layout/entry.js';
import { Generations } from './generations.js';
import { segmentTags } from '../layout/keys.js';

let server: RedisServer | undefined;
let connection: Connection | undefined;
afterEach(async () => {
  await connection?.close();
  await server?.stop();
});

function entryOf(name: string): CatalogueEntry {
  const { seed, ...spec } = filterSpec({ name });
  const generation = randomBytes(8).toString('hex');
  return {
    ...{ ...spec, seed: Buffer.from(seed).toString('hex'), generation, createdAt: 0, itemsPerScript: 100 },
    ...{ tags: segmentTags(generation, spec.geometry.segments), state: 'creating', since: 0 },
  };
}

describe('a generation that another instance takes over while its keys are created', () => {
  it('is not published and leaves no keys', async () => {
    server = await startRedis();
    connection = new Connection({ url: server.url, timeoutMs: 5_000 });
    await connection.firstTry();
    const catalogue = new Catalogue(connection, 5_000, 2 ** 20);
    const generations = new Generations(catalogue, new Allocation(connection), SYSTEM_RANDOM);
    const [slow, quick] = [entryOf('seen'), entryOf('seen')];
    const keysOfSlow = async () => connection?.client.call('KEYS', `*${slow.generation}*`);
    const fill = async (claim: Claim) => {
      await catalogue.set(await catalogue.read('seen'), quick, deadline());
      await claim.allocate(0, deadline());
      expect(await keysOfSlow()).not.toEqual([]);
    };
    const making = generations.making(slow, { operation: made(), verb: 'create', fill });
    expect(await carryOut(catalogue, await catalogue.read('seen'), making)).toBeUndefined();
    expect(await keysOfSlow()).toEqual([]);
    expect((await catalogue.read('seen')).entry?.generation).toBe(quick.generation);
  });
});
