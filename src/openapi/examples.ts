/** What a call sends and is answered, as JSON. */
export interface Example {
  readonly request?: unknown;
  readonly response?: unknown;
}

/**
 * A call of every operation that takes or answers JSON, by operation id: calls of one story, one after the other. A test makes them
 * and compares; with UPDATE_EXAMPLES=1 it writes them here.
 */
export const EXAMPLES: Readonly<Record<string, Example>> = {
  createVisitedSet: {
    request: {
      name: 'crawl',
      capacity: 1000000,
      maxAttempts: 3,
    },
    response: {
      name: 'crawl',
      type: 'counting',
      semantics: 'set',
      capacity: 1000000,
      errorRate: 0.0001,
      growth: 'auto',
      generation: 'bad538dfdc5497a9',
      geometry: {
        segments: 1,
        pageSize: 512,
        hashes: 12,
        hashScheme: 2,
        counters: 23472640,
      },
      memoryBytes: 11736320,
      createdAt: '2026-11-24T23:18:51.167Z',
      items: 0,
      fill: 0,
      estimatedErrorRate: 0,
      saturatedCounters: 0,
      overCapacity: false,
      layers: [
        {
          capacity: 1000000,
          items: 0,
          fill: 0,
          estimatedErrorRate: 0,
          memoryBytes: 11736320,
        },
      ],
      added: 0,
      duplicate: 0,
      removed: 0,
      refused: 0,
      urlProfile: {
        base: 'safe',
        version: 1,
      },
      maxAttempts: 3,
      queue: {
        waiting: 0,
        leased: 0,
        delayed: 0,
        dead: 0,
        forgotten: 0,
      },
    },
  },
  discoverUrls: {
    request: {
      urls: [
        'https://example.org/a?b=1',
        {
          url: 'https://example.org/',
          payload: '{"depth":1}',
        },
      ],
    },
    response: {
      results: ['new', 'new'],
      counts: {
        seen: 0,
        new: 2,
        invalid: 0,
      },
      invalid: [],
    },
  },
  leaseUrls: {
    request: {
      max: 10,
      leaseSeconds: 60,
    },
    response: {
      urls: [
        {
          id: 'AAAAAAAAAAAAAAEAAHJlHstRyyX7',
          url: 'https://example.org/a?b=1',
          attempt: 1,
        },
        {
          id: 'AAAAAAAAAAAAAAEAASXwX5f7w06f',
          url: 'https://example.org/',
          payload: '{"depth":1}',
          attempt: 1,
        },
      ],
    },
  },
  extendLeases: {
    request: {
      ids: ['AAAAAAAAAAAAAAEAAHJlHstRyyX7', 'AAAAAAAAAAAAAAEAASXwX5f7w06f'],
      leaseSeconds: 120,
    },
    response: {
      results: ['extended', 'extended'],
    },
  },
  ackUrls: {
    request: {
      ids: ['AAAAAAAAAAAAAAEAAHJlHstRyyX7'],
    },
    response: {
      results: ['acked'],
    },
  },
  releaseUrls: {
    request: {
      ids: ['AAAAAAAAAAAAAAEAASXwX5f7w06f'],
      delaySeconds: 0,
      reason: 'HTTP 503',
    },
    response: {
      results: ['released'],
    },
  },
  listDeadLetters: {
    response: {
      urls: [
        {
          id: 'AQAAAAAAAAAAAAEAACXwX5f7w06f',
          attempt: 3,
          reason: 'HTTP 503',
          url: 'https://example.org/',
          payload: '{"depth":1}',
        },
      ],
    },
  },
  putBackDeadLetters: {
    request: {
      ids: ['AQAAAAAAAAAAAAEAACXwX5f7w06f'],
    },
    response: {
      results: ['put back'],
    },
  },
  purgeDeadLetters: {
    request: {
      ids: ['AQAAAAAAAAAAAAIAACXwX5f7w06f'],
    },
    response: {
      results: ['purged'],
    },
  },
  visitUrls: {
    request: {
      urls: ['https://example.org/c', 'https://example.org/d'],
    },
    response: {
      results: ['new', 'new'],
      counts: {
        seen: 0,
        new: 2,
        invalid: 0,
      },
      invalid: [],
    },
  },
  checkUrls: {
    request: {
      urls: ['https://example.org/a?b=1', 'https://example.org/e'],
    },
    response: {
      results: ['seen', 'unseen'],
      counts: {
        unseen: 1,
        seen: 1,
        invalid: 0,
      },
      invalid: [],
    },
  },
  forgetUrls: {
    request: {
      urls: ['https://example.org/c', 'https://example.org/e'],
    },
    response: {
      results: ['forgotten', 'absent'],
      counts: {
        absent: 1,
        forgotten: 1,
        saturated: 0,
        invalid: 0,
      },
      invalid: [],
    },
  },
  getVisitedSet: {
    response: {
      name: 'crawl',
      type: 'counting',
      semantics: 'set',
      capacity: 1000000,
      errorRate: 0.0001,
      growth: 'auto',
      generation: 'bad538dfdc5497a9',
      geometry: {
        segments: 1,
        pageSize: 512,
        hashes: 12,
        hashScheme: 2,
        counters: 23472640,
      },
      memoryBytes: 11736320,
      createdAt: '2026-11-24T23:18:51.167Z',
      items: 3,
      fill: 0.0000015337005125967936,
      estimatedErrorRate: 8.621343917423446e-27,
      saturatedCounters: 0,
      overCapacity: false,
      layers: [
        {
          capacity: 1000000,
          items: 3,
          fill: 0.0000015337005125967936,
          estimatedErrorRate: 8.621343917423446e-27,
          memoryBytes: 11736320,
        },
      ],
      added: 4,
      duplicate: 0,
      removed: 1,
      refused: 1,
      urlProfile: {
        base: 'safe',
        version: 1,
      },
      maxAttempts: 3,
      queue: {
        waiting: 0,
        leased: 0,
        delayed: 0,
        dead: 0,
        forgotten: 0,
      },
    },
  },
  listVisitedSets: {
    response: {
      visitedSets: [
        {
          name: 'crawl',
          type: 'counting',
          semantics: 'set',
          capacity: 1000000,
          errorRate: 0.0001,
          growth: 'auto',
          generation: 'bad538dfdc5497a9',
          geometry: {
            segments: 1,
            pageSize: 512,
            hashes: 12,
            hashScheme: 2,
            counters: 23472640,
          },
          memoryBytes: 11736320,
          createdAt: '2026-11-24T23:18:51.167Z',
          items: 3,
          fill: 0.0000015337005125967936,
          estimatedErrorRate: 8.621343917423446e-27,
          saturatedCounters: 0,
          overCapacity: false,
          layers: [
            {
              capacity: 1000000,
              items: 3,
              fill: 0.0000015337005125967936,
              estimatedErrorRate: 8.621343917423446e-27,
              memoryBytes: 11736320,
            },
          ],
          added: 4,
          duplicate: 0,
          removed: 1,
          refused: 1,
          urlProfile: {
            base: 'safe',
            version: 1,
          },
          maxAttempts: 3,
          queue: {
            waiting: 0,
            leased: 0,
            delayed: 0,
            dead: 0,
            forgotten: 0,
          },
        },
      ],
    },
  },
  openVisitedSetSync: {
    request: {
      capacity: 2000000,
    },
    response: {
      id: 'e543f8248a1c91be',
      state: 'open',
      openedAt: '2026-11-24T23:18:52.690Z',
      capacity: 2000000,
      errorRate: 0.0001,
      listed: 0,
      new: 0,
      wouldForget: 3,
      items: 3,
      memoryBytes: 23472640,
    },
  },
  keepUrls: {
    request: {
      urls: ['https://example.org/a?b=1', 'https://example.org/', 'https://example.org/new'],
    },
    response: {
      results: ['kept', 'kept', 'new'],
      counts: {
        kept: 2,
        new: 1,
        forgotten: 0,
        invalid: 0,
      },
      invalid: [],
    },
  },
  getVisitedSetSync: {
    response: {
      id: 'e543f8248a1c91be',
      state: 'open',
      openedAt: '2026-11-24T23:18:52.690Z',
      capacity: 2000000,
      errorRate: 0.0001,
      listed: 3,
      new: 1,
      wouldForget: 1,
      items: 3,
      memoryBytes: 23472640,
    },
  },
  commitVisitedSetSync: {
    request: {
      maxForgetShare: 0.5,
    },
    response: {
      id: 'e543f8248a1c91be',
      state: 'committed',
      openedAt: '2026-11-24T23:18:52.690Z',
      capacity: 2000000,
      errorRate: 0.0001,
      listed: 3,
      new: 1,
      wouldForget: 1,
      items: 3,
      memoryBytes: 0,
    },
  },
  abandonVisitedSetSync: {},
  importVisitedSet: {
    response: {
      name: 'copy',
      type: 'counting',
      semantics: 'set',
      capacity: 2000000,
      errorRate: 0.0001,
      growth: 'auto',
      generation: '6d2f33611106ba10',
      geometry: {
        segments: 2,
        pageSize: 512,
        hashes: 12,
        hashScheme: 2,
        counters: 46945280,
      },
      memoryBytes: 23472640,
      createdAt: '2026-11-24T23:18:55.363Z',
      items: 3,
      fill: 7.668502562983968e-7,
      estimatedErrorRate: 2.173651265999945e-27,
      saturatedCounters: 0,
      overCapacity: false,
      layers: [
        {
          capacity: 2000000,
          items: 3,
          fill: 7.668502562983968e-7,
          estimatedErrorRate: 2.173651265999945e-27,
          memoryBytes: 23472640,
        },
      ],
      added: 4,
      duplicate: 0,
      removed: 1,
      refused: 1,
      urlProfile: {
        base: 'safe',
        version: 1,
      },
      maxAttempts: 3,
      queue: {
        waiting: 0,
        leased: 0,
        delayed: 0,
        dead: 0,
        forgotten: 0,
      },
    },
  },
  dropVisitedSet: {},
  clearVisitedSet: {
    response: {
      name: 'crawl',
      type: 'counting',
      semantics: 'set',
      capacity: 2000000,
      errorRate: 0.0001,
      growth: 'auto',
      generation: 'fc71c1059059636f',
      geometry: {
        segments: 2,
        pageSize: 512,
        hashes: 12,
        hashScheme: 2,
        counters: 46945280,
      },
      memoryBytes: 23472640,
      createdAt: '2026-11-24T23:18:57.666Z',
      items: 0,
      fill: 0,
      estimatedErrorRate: 0,
      saturatedCounters: 0,
      overCapacity: false,
      layers: [
        {
          capacity: 2000000,
          items: 0,
          fill: 0,
          estimatedErrorRate: 0,
          memoryBytes: 23472640,
        },
      ],
      added: 0,
      duplicate: 0,
      removed: 0,
      refused: 0,
      urlProfile: {
        base: 'safe',
        version: 1,
      },
      maxAttempts: 3,
      queue: {
        waiting: 0,
        leased: 0,
        delayed: 0,
        dead: 0,
        forgotten: 0,
      },
    },
  },
  planFilter: {
    request: {
      type: 'counting',
      capacity: 1000000,
      errorRate: 0.001,
      growth: 'auto',
    },
    response: {
      type: 'counting',
      capacity: 1000000,
      errorRate: 0.001,
      growth: 'auto',
      geometry: {
        segments: 1,
        pageSize: 512,
        hashes: 10,
        hashScheme: 2,
        counters: 16829952,
      },
      memoryBytes: 8414976,
      plannedLayers: [
        {
          capacity: 1000000,
          errorRate: 0.0006,
          memoryBytes: 8414976,
        },
        {
          capacity: 2700000,
          errorRate: 0.00015,
          memoryBytes: 28084736,
        },
        {
          capacity: 7290001,
          errorRate: 0.0001,
          memoryBytes: 80563200,
        },
        {
          capacity: 19683001,
          errorRate: 0.00005,
          memoryBytes: 240975360,
        },
        {
          capacity: 53144101,
          errorRate: 0.00005,
          memoryBytes: 650637312,
        },
        {
          capacity: 143489071,
          errorRate: 0.00005,
          memoryBytes: 1756715520,
        },
      ],
    },
  },
  createFilter: {
    request: {
      name: 'pages',
      type: 'counting',
      capacity: 1000000,
      errorRate: 0.001,
    },
    response: {
      name: 'pages',
      type: 'counting',
      semantics: 'set',
      capacity: 1000000,
      errorRate: 0.001,
      growth: 'none',
      generation: '58d76ea4a4c5f5e4',
      geometry: {
        segments: 1,
        pageSize: 512,
        hashes: 9,
        hashScheme: 2,
        counters: 15480832,
      },
      memoryBytes: 7740416,
      createdAt: '2026-11-24T23:18:57.704Z',
      items: 0,
      fill: 0,
      estimatedErrorRate: 0,
      saturatedCounters: 0,
      overCapacity: false,
      layers: [
        {
          capacity: 1000000,
          items: 0,
          fill: 0,
          estimatedErrorRate: 0,
          memoryBytes: 7740416,
        },
      ],
      added: 0,
      duplicate: 0,
      removed: 0,
      refused: 0,
    },
  },
  addItems: {
    request: {
      items: ['alpha', 'beta', 'alpha'],
    },
    response: {
      results: [true, true, false],
    },
  },
  checkItems: {
    request: {
      items: ['alpha', 'gamma'],
    },
    response: {
      results: [true, false],
    },
  },
  countItems: {
    request: {
      items: ['alpha', 'gamma'],
    },
    response: {
      results: [1, 0],
    },
  },
  removeItems: {
    request: {
      items: ['beta', 'gamma'],
    },
    response: {
      results: ['removed', 'absent'],
    },
  },
  getFilter: {
    response: {
      name: 'pages',
      type: 'counting',
      semantics: 'set',
      capacity: 1000000,
      errorRate: 0.001,
      growth: 'none',
      generation: '58d76ea4a4c5f5e4',
      geometry: {
        segments: 1,
        pageSize: 512,
        hashes: 9,
        hashScheme: 2,
        counters: 15480832,
      },
      memoryBytes: 7740416,
      createdAt: '2026-11-24T23:18:57.704Z',
      items: 1,
      fill: 5.813641023944967e-7,
      estimatedErrorRate: 9.28529434505376e-24,
      saturatedCounters: 0,
      overCapacity: false,
      layers: [
        {
          capacity: 1000000,
          items: 1,
          fill: 5.813641023944967e-7,
          estimatedErrorRate: 9.28529434505376e-24,
          memoryBytes: 7740416,
        },
      ],
      added: 2,
      duplicate: 0,
      removed: 1,
      refused: 1,
    },
  },
  listFilters: {
    response: {
      filters: [
        {
          name: 'pages',
          type: 'counting',
          semantics: 'set',
          capacity: 1000000,
          errorRate: 0.001,
          growth: 'none',
          generation: '58d76ea4a4c5f5e4',
          geometry: {
            segments: 1,
            pageSize: 512,
            hashes: 9,
            hashScheme: 2,
            counters: 15480832,
          },
          memoryBytes: 7740416,
          createdAt: '2026-11-24T23:18:57.704Z',
          items: 1,
          fill: 5.813641023944967e-7,
          estimatedErrorRate: 9.28529434505376e-24,
          saturatedCounters: 0,
          overCapacity: false,
          layers: [
            {
              capacity: 1000000,
              items: 1,
              fill: 5.813641023944967e-7,
              estimatedErrorRate: 9.28529434505376e-24,
              memoryBytes: 7740416,
            },
          ],
          added: 2,
          duplicate: 0,
          removed: 1,
          refused: 1,
        },
      ],
    },
  },
  openFilterSync: {
    request: {
      errorRate: 0.0001,
    },
    response: {
      id: '65bb7dbaca9ed65c',
      state: 'open',
      openedAt: '2026-11-24T23:18:57.822Z',
      capacity: 1000000,
      errorRate: 0.0001,
      listed: 0,
      new: 0,
      wouldForget: 1,
      items: 1,
      memoryBytes: 10957824,
    },
  },
  keepItems: {
    request: {
      items: ['alpha', 'delta'],
    },
    response: {
      results: ['kept', 'new'],
    },
  },
  getFilterSync: {
    response: {
      id: '65bb7dbaca9ed65c',
      state: 'open',
      openedAt: '2026-11-24T23:18:57.822Z',
      capacity: 1000000,
      errorRate: 0.0001,
      listed: 2,
      new: 1,
      wouldForget: 0,
      items: 1,
      memoryBytes: 10957824,
    },
  },
  commitFilterSync: {
    request: {
      dryRun: true,
    },
    response: {
      id: '65bb7dbaca9ed65c',
      state: 'open',
      openedAt: '2026-11-24T23:18:57.822Z',
      capacity: 1000000,
      errorRate: 0.0001,
      listed: 2,
      new: 1,
      wouldForget: 0,
      items: 1,
      memoryBytes: 10957824,
      maxForgetShare: 0.5,
      refused: false,
    },
  },
  abandonFilterSync: {},
  importFilter: {
    response: {
      name: 'copy',
      type: 'counting',
      semantics: 'set',
      capacity: 1000000,
      errorRate: 0.001,
      growth: 'none',
      generation: '0ec25475c37ad577',
      geometry: {
        segments: 1,
        pageSize: 512,
        hashes: 9,
        hashScheme: 2,
        counters: 15480832,
      },
      memoryBytes: 7740416,
      createdAt: '2026-11-24T23:18:58.693Z',
      items: 1,
      fill: 5.813641023944967e-7,
      estimatedErrorRate: 9.28529434505376e-24,
      saturatedCounters: 0,
      overCapacity: false,
      layers: [
        {
          capacity: 1000000,
          items: 1,
          fill: 5.813641023944967e-7,
          estimatedErrorRate: 9.28529434505376e-24,
          memoryBytes: 7740416,
        },
      ],
      added: 2,
      duplicate: 0,
      removed: 1,
      refused: 1,
    },
  },
  dropFilter: {},
  clearFilter: {
    response: {
      name: 'pages',
      type: 'counting',
      semantics: 'set',
      capacity: 1000000,
      errorRate: 0.001,
      growth: 'none',
      generation: '5c64e4bd8007d34b',
      geometry: {
        segments: 1,
        pageSize: 512,
        hashes: 9,
        hashScheme: 2,
        counters: 15480832,
      },
      memoryBytes: 7740416,
      createdAt: '2026-11-24T23:18:59.830Z',
      items: 0,
      fill: 0,
      estimatedErrorRate: 0,
      saturatedCounters: 0,
      overCapacity: false,
      layers: [
        {
          capacity: 1000000,
          items: 0,
          fill: 0,
          estimatedErrorRate: 0,
          memoryBytes: 7740416,
        },
      ],
      added: 0,
      duplicate: 0,
      removed: 0,
      refused: 0,
    },
  },
  getHealth: {
    response: {
      status: 'ok',
    },
  },
  getReadiness: {
    response: {
      status: 'ready',
      warnings: [],
    },
  },
  createKey: {
    request: {
      name: 'ops',
      scopes: ['admin'],
    },
    response: {
      id: 'd35a52428ba642e7',
      name: 'ops',
      scopes: ['admin'],
      createdAt: '2026-11-24T23:19:00.216Z',
      key: 'unseen_d35a52428ba642e7_aHMF_l5hXcsGg9fFVk46LF04F-elajXJ_OnABWscPQU',
    },
  },
  getMe: {
    response: {
      id: 'key:d35a52428ba642e7',
      name: 'ops',
      scopes: ['admin'],
    },
  },
  rotateKey: {
    request: {
      overlapSeconds: 3600,
    },
    response: {
      id: '6608c31207c352e2',
      name: 'ops',
      scopes: ['admin'],
      createdAt: '2026-11-24T23:19:00.281Z',
      key: 'unseen_…',
    },
  },
  listKeys: {
    response: {
      keys: [
        {
          id: '6608c31207c352e2',
          name: 'ops',
          scopes: ['admin'],
          createdAt: '2026-11-24T23:19:00.281Z',
        },
        {
          id: 'd35a52428ba642e7',
          name: 'ops',
          scopes: ['admin'],
          createdAt: '2026-11-24T23:19:00.216Z',
          expiresAt: '2026-11-25T00:19:00.281Z',
          lastUsedAt: '2026-11-24T23:19:00.314Z',
        },
      ],
    },
  },
  revokeKey: {},
};
