import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { deadline, expectRefusal, filterSpec, keyed } from '../../../../../test/contract/calls.js';
import { startRedis, type RedisServer } from '../../../../../test/support/redis-server.js';
import { StoreError } from '../../errors.js';
import { SYSTEM_RANDOM } from '../../random-source.js';
import { Allocation } from './allocation.js';
import { Catalogue, type CatalogueRecord } from './catalogue.js';
import { carryOut } from './catalogue-change.js';
import { Connection } from '../connection/connection.js';
import type { CatalogueEntry } from '../layout/entry.js';
import { Generations } from './generations.js';
import { LifeCycle } from './life-cycle.js';

let server: RedisServer;
let connection: Connection;
beforeEach(async () => {
  server = await startRedis();
  connection = new Connection({ url: server.url, timeoutMs: 5_000 });
  await connection.firstTry();
});
afterEach(async () => {
  await connection.close();
  await server.stop();
});

const generationsWith = (catalogue: Catalogue) =>
  new Generations(catalogue, new Allocation(connection), SYSTEM_RANDOM);
const lifeCycleWith = (catalogue: Catalogue) => new LifeCycle(catalogue, generationsWith(catalogue));

/** Runs another copy of the request right after the first lookup of its record. */
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

describe('a life-cycle operation whose twin runs right after the lookup of its record', () => {
  it('returns the same answer as its twin, and does not run again', async () => {
    const catalogue = new InterruptedCatalogue(connection, 5_000, 2 ** 20);
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

describe('a clear whose instance died', () => {
  it.each(['ready', 'create', 'clear'] as const)(
    'is finished by %s, and retrying it changes nothing',
    async (next) => {
      const catalogue = new Catalogue(connection, 5_000, 2 ** 20);
      const generations = generationsWith(catalogue);
      const lifeCycle = lifeCycleWith(catalogue);
      const [spec, clearing] = [filterSpec(), keyed()];
      const { name, kind } = spec;
      const { filter } = await lifeCycle.create(spec, keyed());
      const read = await catalogue.read(name);
      const dead = generations.emptied(read.entry as CatalogueEntry, 'clear', clearing, 0);
      await catalogue.set(read, dead, deadline());
      const calls = {
        ready: () => lifeCycle.ready(name, kind, deadline()),
        create: async () => (await lifeCycle.create(spec, keyed())).filter,
        clear: () => lifeCycle.clear(name, kind, keyed()),
      };
      const { generation } = await calls[next]();
      expect([filter.generation, dead.generation]).not.toContain(generation);
      const repeated = await lifeCycle.clear(name, kind, clearing);
      if (next !== 'clear') expect(repeated.generation).toBe(generation);
      expect((await lifeCycle.ready(name, kind, deadline())).generation).toBe(generation);
    },
  );
});

describe('a drop whose instance died', () => {
  it('is finished by the next creation, and retrying it keeps the new filter', async () => {
    const catalogue = new Catalogue(connection, 5_000, 2 ** 20);
    const lifeCycle = lifeCycleWith(catalogue);
    const [spec, dropping] = [filterSpec(), keyed()];
    const { name, kind } = spec;
    await lifeCycle.create(spec, keyed());
    const read = await catalogue.read(name);
    const change = generationsWith(catalogue).removing(read.entry as CatalogueEntry, 0, deadline(), {
      verb: 'drop',
      operation: dropping,
    });
    await catalogue.set(read, change.announced, deadline());
    const { filter, created } = await lifeCycle.create(spec, keyed());
    await lifeCycle.drop(name, kind, dropping);
    expect([created, (await lifeCycle.ready(name, kind, deadline())).generation]).toEqual([
      true,
      filter.generation,
    ]);
  });
});

/** Loses the reply to a publication. Another instance acts before the publication is sent again. */
class AnswerLost extends Catalogue {
  meanwhile: ((entry: CatalogueEntry) => Promise<unknown>) | undefined;

  override async set(...args: Parameters<Catalogue['set']>): ReturnType<Catalogue['set']> {
    const [, entry] = args;
    const raw = await super.set(...args);
    const { meanwhile } = this;
    if (entry?.state !== 'ready' || !meanwhile) return raw;
    this.meanwhile = undefined;
    await meanwhile(entry);
    return super.set(...args);
  }
}

describe('a filter that another instance changes before its creator knows it is published', () => {
  it('stays, and the creation succeeds', async () => {
    const catalogue = new AnswerLost(connection, 5_000, 2 ** 20);
    const spec = filterSpec();
    let keys: unknown;
    const keysNow = () => connection.client.call('KEYS', '*:cells');
    catalogue.meanwhile = async (entry) => {
      keys = await keysNow();
      const read = await catalogue.read(spec.name);
      expect(await catalogue.set(read, { ...entry, nextLayer: 7 }, deadline())).toBeDefined();
    };
    const { created, filter } = await lifeCycleWith(catalogue).create(spec, keyed());
    const { entry } = await catalogue.read(spec.name);
    expect([created, entry?.generation, entry?.nextLayer]).toEqual([true, filter.generation, 7]);
    expect(keys).toHaveLength(1);
    expect(await keysNow()).toEqual(keys);
  });
});

describe('a creation that is retried while another instance cleans up after its first attempt', () => {
  it('waits, and then creates the filter', async () => {
    const catalogue = new InterruptedCatalogue(connection, 5_000, 2 ** 20);
    const generations = generationsWith(catalogue);
    const [spec, creating] = [filterSpec(), keyed()];
    const dead = generations.describe(spec, 'create', creating, 0, undefined);
    const raw = (await catalogue.set({ raw: '', entry: undefined }, dead, deadline())) ?? '';
    const removing = generations.removing(dead, Date.now(), deadline());
    let creation: ReturnType<LifeCycle['create']> | undefined;
    await carryOut(
      catalogue,
      { raw, entry: dead },
      {
        ...removing,
        prepare: async (held) => {
          const secondLook = new Promise<void>((looks) => {
            catalogue.twin = async () => {
              catalogue.twin = async () => looks();
            };
          });
          creation = lifeCycleWith(catalogue).create(spec, creating);
          await Promise.race([secondLook, creation]);
          return removing.prepare(held);
        },
      },
    );
    expect(await creation).toMatchObject({ created: true });
    expect((await catalogue.read(spec.name)).entry?.state).toBe('ready');
  });
});

/** Loses the reply when a creation is announced. */
class Unheard extends Catalogue {
  override async set(...args: Parameters<Catalogue['set']>): ReturnType<Catalogue['set']> {
    const raw = await super.set(...args);
    const [, entry] = args;
    if (entry?.state !== 'creating' || entry.since === 0) return raw;
    throw new StoreError('STORE_UNAVAILABLE', 'no answer');
  }
}

describe('a creation whose announcement gets no answer', () => {
  it.each([
    ['', []],
    [', after room was made for it', ['t-dead']],
  ])('fails at once%s', async (_, dead) => {
    const catalogue = new Catalogue(connection, 5_000, 2 ** 20);
    for (const name of dead) {
      const spec = filterSpec({ name });
      const entry = generationsWith(catalogue).describe(spec, 'create', keyed(), 0, undefined);
      await catalogue.set({ raw: '', entry: undefined }, entry, deadline());
    }
    const lifeCycle = lifeCycleWith(new Unheard(connection, 5_000, 2 ** 20));
    const creation = lifeCycle.create(filterSpec({ name: 't-new' }), keyed(), {
      prefix: 't-',
      maxFilters: 1,
    });
    await expectRefusal(creation, 'STORE_UNAVAILABLE');
    await expectRefusal(lifeCycle.ready('t-new', 'filter', deadline()), 'FILTER_NOT_FOUND');
    expect((await catalogue.read('t-new')).entry).toMatchObject({ state: 'creating', since: 0 });
  });
});
