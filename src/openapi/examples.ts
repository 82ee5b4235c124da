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
      generation: 'a8d33e1617176c7a',
      geometry: {
        segments: 1,
        pageSize: 512,
        hashes: 12,
        hashScheme: 2,
        counters: 23472640,
      },
      memoryBytes: 11736320,
      createdAt: '2026-11-24T23:58:56.216Z',
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
          id: 'AAAAAAAAAAAAAAEAAFKCjEsjNw8Q',
          url: 'https://example.org/a?b=1',
          attempt: 1,
        },
        {
          id: 'AAAAAAAAAAAAAAEAAQFCLpQ7rm_o',
          url: 'https://example.org/',
          payload: '{"depth":1}',
          attempt: 1,
        },
      ],
    },
  },
  extendLeases: {
    request: {
      ids: ['AAAAAAAAAAAAAAEAAFKCjEsjNw8Q', 'AAAAAAAAAAAAAAEAAQFCLpQ7rm_o'],
      leaseSeconds: 120,
    },
    response: {
      results: ['extended', 'extended'],
    },
  },
  ackUrls: {
    request: {
      ids: ['AAAAAAAAAAAAAAEAAFKCjEsjNw8Q'],
    },
    response: {
      results: ['acked'],
    },
  },
  releaseUrls: {
    request: {
      ids: ['AAAAAAAAAAAAAAEAAQFCLpQ7rm_o'],
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
          id: 'AQAAAAAAAAAAAAEAAAFCLpQ7rm_o',
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
      ids: ['AQAAAAAAAAAAAAEAAAFCLpQ7rm_o'],
    },
    response: {
      results: ['put back'],
    },
  },
  purgeDeadLetters: {
    request: {
      ids: ['AQAAAAAAAAAAAAIAAAFCLpQ7rm_o'],
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
  explainUrls: {
    request: {
      urls: ['HTTPS://example.org:443/a?b=1#top', 'mailto:a@example.org'],
    },
    response: {
      urls: [
        {
          url: 'mailto:a@example.org',
          invalid: 'scheme not http or https',
        },
        {
          url: 'HTTPS://example.org:443/a?b=1#top',
          key: 'https://example.org/a?b=1',
          rules: [
            {
              rule: 'S2',
              before: 'HTTPS://example.org:443/a?b=1#top',
              after: 'https://example.org/a?b=1#top',
            },
            {
              rule: 'S12',
              before: 'https://example.org/a?b=1#top',
              after: 'https://example.org/a?b=1',
            },
          ],
          answer: 'seen',
          layers: [
            {
              layer: 0,
              segment: 0,
              page: 6306,
              cell: 'u4',
              claims: true,
              counters: [
                {
                  index: 3228709,
                  value: 1,
                },
                {
                  index: 3228805,
                  value: 1,
                },
                {
                  index: 3228831,
                  value: 1,
                },
                {
                  index: 3228901,
                  value: 1,
                },
                {
                  index: 3228933,
                  value: 1,
                },
                {
                  index: 3228947,
                  value: 1,
                },
                {
                  index: 3228954,
                  value: 1,
                },
                {
                  index: 3228992,
                  value: 1,
                },
                {
                  index: 3229022,
                  value: 1,
                },
                {
                  index: 3229056,
                  value: 1,
                },
                {
                  index: 3229109,
                  value: 1,
                },
                {
                  index: 3229161,
                  value: 1,
                },
              ],
            },
          ],
        },
      ],
    },
  },
  getVisitedSetCounters: {
    response: {
      layers: [
        {
          pages: 45845,
          sampledPages: 256,
          values: [131072, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        },
      ],
    },
  },
  getVisitedSetHistory: {
    response: {
      watched: true,
      since: '2026-11-24T23:58:56.864Z',
      intervalSeconds: 60,
      points: [
        {
          at: '2026-11-24T23:58:56.864Z',
          items: 3,
          fill: 0.0000015337005125967936,
          estimatedErrorRate: 8.621343917423446e-27,
          added: 4,
          duplicate: 0,
          removed: 1,
          refused: 1,
          queue: {
            waiting: 0,
            leased: 0,
            delayed: 0,
            dead: 0,
          },
        },
        {
          at: '2026-11-24T23:58:56.867Z',
          items: 3,
          fill: 0.0000015337005125967936,
          estimatedErrorRate: 8.621343917423446e-27,
          added: 4,
          duplicate: 0,
          removed: 1,
          refused: 1,
          queue: {
            waiting: 0,
            leased: 0,
            delayed: 0,
            dead: 0,
          },
        },
      ],
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
      generation: 'a8d33e1617176c7a',
      geometry: {
        segments: 1,
        pageSize: 512,
        hashes: 12,
        hashScheme: 2,
        counters: 23472640,
      },
      memoryBytes: 11736320,
      createdAt: '2026-11-24T23:58:56.216Z',
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
          generation: 'a8d33e1617176c7a',
          geometry: {
            segments: 1,
            pageSize: 512,
            hashes: 12,
            hashScheme: 2,
            counters: 23472640,
          },
          memoryBytes: 11736320,
          createdAt: '2026-11-24T23:58:56.216Z',
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
      id: 'c5aa78f62526ceb6',
      state: 'open',
      openedAt: '2026-11-24T23:58:57.008Z',
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
      id: 'c5aa78f62526ceb6',
      state: 'open',
      openedAt: '2026-11-24T23:58:57.008Z',
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
      id: 'c5aa78f62526ceb6',
      state: 'committed',
      openedAt: '2026-11-24T23:58:57.008Z',
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
      generation: 'd330b39c1f1b4b3e',
      geometry: {
        segments: 2,
        pageSize: 512,
        hashes: 12,
        hashScheme: 2,
        counters: 46945280,
      },
      memoryBytes: 23472640,
      createdAt: '2026-11-24T23:58:59.956Z',
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
      generation: 'c2487ba0ab26e57b',
      geometry: {
        segments: 2,
        pageSize: 512,
        hashes: 12,
        hashScheme: 2,
        counters: 46945280,
      },
      memoryBytes: 23472640,
      createdAt: '2026-11-24T23:59:03.193Z',
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
      generation: '1b187398c109e986',
      geometry: {
        segments: 1,
        pageSize: 512,
        hashes: 9,
        hashScheme: 2,
        counters: 15480832,
      },
      memoryBytes: 7740416,
      createdAt: '2026-11-24T23:59:03.507Z',
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
  explainItems: {
    request: {
      items: ['alpha'],
    },
    response: {
      items: [
        {
          item: 'alpha',
          answer: 'seen',
          layers: [
            {
              layer: 0,
              segment: 0,
              page: 9925,
              cell: 'u4',
              claims: true,
              counters: [
                {
                  index: 5081654,
                  value: 1,
                },
                {
                  index: 5081730,
                  value: 1,
                },
                {
                  index: 5081748,
                  value: 1,
                },
                {
                  index: 5081775,
                  value: 1,
                },
                {
                  index: 5081820,
                  value: 1,
                },
                {
                  index: 5081896,
                  value: 1,
                },
                {
                  index: 5082031,
                  value: 1,
                },
                {
                  index: 5082056,
                  value: 1,
                },
                {
                  index: 5082062,
                  value: 1,
                },
              ],
            },
          ],
        },
      ],
    },
  },
  getFilterCounters: {
    response: {
      layers: [
        {
          pages: 30236,
          sampledPages: 256,
          values: [131072, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        },
      ],
    },
  },
  getFilterHistory: {
    response: {
      watched: true,
      since: '2026-11-24T23:59:03.703Z',
      intervalSeconds: 60,
      points: [
        {
          at: '2026-11-24T23:59:03.703Z',
          items: 1,
          fill: 5.813641023944967e-7,
          estimatedErrorRate: 9.28529434505376e-24,
          added: 2,
          duplicate: 0,
          removed: 1,
          refused: 1,
        },
        {
          at: '2026-11-24T23:59:03.714Z',
          items: 1,
          fill: 5.813641023944967e-7,
          estimatedErrorRate: 9.28529434505376e-24,
          added: 2,
          duplicate: 0,
          removed: 1,
          refused: 1,
        },
      ],
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
      generation: '1b187398c109e986',
      geometry: {
        segments: 1,
        pageSize: 512,
        hashes: 9,
        hashScheme: 2,
        counters: 15480832,
      },
      memoryBytes: 7740416,
      createdAt: '2026-11-24T23:59:03.507Z',
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
          generation: '1b187398c109e986',
          geometry: {
            segments: 1,
            pageSize: 512,
            hashes: 9,
            hashScheme: 2,
            counters: 15480832,
          },
          memoryBytes: 7740416,
          createdAt: '2026-11-24T23:59:03.507Z',
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
      id: '8914310f33784793',
      state: 'open',
      openedAt: '2026-11-24T23:59:03.785Z',
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
      id: '8914310f33784793',
      state: 'open',
      openedAt: '2026-11-24T23:59:03.785Z',
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
      id: '8914310f33784793',
      state: 'open',
      openedAt: '2026-11-24T23:59:03.785Z',
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
      generation: '2d8ecbf91c9f6322',
      geometry: {
        segments: 1,
        pageSize: 512,
        hashes: 9,
        hashScheme: 2,
        counters: 15480832,
      },
      memoryBytes: 7740416,
      createdAt: '2026-11-24T23:59:04.493Z',
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
      generation: '2a0248efd5b5c755',
      geometry: {
        segments: 1,
        pageSize: 512,
        hashes: 9,
        hashScheme: 2,
        counters: 15480832,
      },
      memoryBytes: 7740416,
      createdAt: '2026-11-24T23:59:05.351Z',
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
      id: '659036112d8be2df',
      name: 'ops',
      scopes: ['admin'],
      createdAt: '2026-11-24T23:59:05.428Z',
      key: 'unseen_659036112d8be2df_VB3m37Lv1zAId3Z3ZlSirRucOzeT2t-kKt5RMb3oTbs',
    },
  },
  getMe: {
    response: {
      id: 'key:659036112d8be2df',
      name: 'ops',
      scopes: ['admin'],
    },
  },
  rotateKey: {
    request: {
      overlapSeconds: 3600,
    },
    response: {
      id: '65e2f91b86d68e01',
      name: 'ops',
      scopes: ['admin'],
      createdAt: '2026-11-24T23:59:05.468Z',
      key: 'unseen_…',
    },
  },
  listKeys: {
    response: {
      keys: [
        {
          id: '659036112d8be2df',
          name: 'ops',
          scopes: ['admin'],
          createdAt: '2026-11-24T23:59:05.428Z',
          expiresAt: '2026-11-25T00:59:05.468Z',
          lastUsedAt: '2026-11-24T23:59:05.494Z',
        },
        {
          id: '65e2f91b86d68e01',
          name: 'ops',
          scopes: ['admin'],
          createdAt: '2026-11-24T23:59:05.468Z',
        },
      ],
    },
  },
  revokeKey: {},
};
