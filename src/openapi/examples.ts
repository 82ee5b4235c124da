/** A call's body and its answer, as JSON. */
export interface Example {
  readonly request?: unknown;
  readonly response?: unknown;
}

/**
 * A call for every operation with a JSON body or a JSON answer, by operation id. The calls form one sequence. A test
 * makes them and compares the answers. With UPDATE_EXAMPLES=1, it writes them here.
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
      generation: '0fa32565bf445093',
      geometry: {
        segments: 1,
        pageSize: 512,
        hashes: 12,
        hashScheme: 2,
        counters: 23472640,
      },
      memoryBytes: 11736320,
      createdAt: '2026-11-25T14:06:53.940Z',
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
        scheduled: 0,
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
          id: 'AF6dMgAAAAAAAAAAAAEAALeL2hhz6K5j',
          url: 'https://example.org/a?b=1',
          attempt: 1,
        },
        {
          id: 'AF6dMgAAAAAAAAAAAAEAATTDOtK6pEjX',
          url: 'https://example.org/',
          payload: '{"depth":1}',
          attempt: 1,
        },
      ],
    },
  },
  extendLeases: {
    request: {
      ids: ['AF6dMgAAAAAAAAAAAAEAALeL2hhz6K5j', 'AF6dMgAAAAAAAAAAAAEAATTDOtK6pEjX'],
      leaseSeconds: 120,
    },
    response: {
      results: ['extended', 'extended'],
    },
  },
  ackUrls: {
    request: {
      ids: ['AF6dMgAAAAAAAAAAAAEAALeL2hhz6K5j'],
    },
    response: {
      results: ['acked'],
    },
  },
  releaseUrls: {
    request: {
      ids: ['AF6dMgAAAAAAAAAAAAEAATTDOtK6pEjX'],
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
          id: 'AV6dMgAAAAAAAAAAAAEAADTDOtK6pEjX',
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
      ids: ['AV6dMgAAAAAAAAAAAAEAADTDOtK6pEjX'],
    },
    response: {
      results: ['put back'],
    },
  },
  purgeDeadLetters: {
    request: {
      ids: ['AV6dMgAAAAAAAAAAAAIAADTDOtK6pEjX'],
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
              page: 20757,
              cell: 'u4',
              claims: true,
              counters: [
                {
                  index: 10627607,
                  value: 1,
                },
                {
                  index: 10627623,
                  value: 1,
                },
                {
                  index: 10627627,
                  value: 1,
                },
                {
                  index: 10627649,
                  value: 1,
                },
                {
                  index: 10627693,
                  value: 1,
                },
                {
                  index: 10627789,
                  value: 1,
                },
                {
                  index: 10627822,
                  value: 1,
                },
                {
                  index: 10627833,
                  value: 1,
                },
                {
                  index: 10627875,
                  value: 1,
                },
                {
                  index: 10627926,
                  value: 1,
                },
                {
                  index: 10627973,
                  value: 1,
                },
                {
                  index: 10628030,
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
      since: '2026-11-25T14:06:54.357Z',
      intervalSeconds: 60,
      points: [
        {
          at: '2026-11-25T14:06:54.357Z',
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
            scheduled: 0,
            dead: 0,
          },
        },
        {
          at: '2026-11-25T14:06:54.359Z',
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
            scheduled: 0,
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
      generation: '0fa32565bf445093',
      geometry: {
        segments: 1,
        pageSize: 512,
        hashes: 12,
        hashScheme: 2,
        counters: 23472640,
      },
      memoryBytes: 11736320,
      createdAt: '2026-11-25T14:06:53.940Z',
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
        scheduled: 0,
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
          generation: '0fa32565bf445093',
          geometry: {
            segments: 1,
            pageSize: 512,
            hashes: 12,
            hashScheme: 2,
            counters: 23472640,
          },
          memoryBytes: 11736320,
          createdAt: '2026-11-25T14:06:53.940Z',
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
            scheduled: 0,
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
      id: '8422ce88d9c59e0d',
      state: 'open',
      openedAt: '2026-11-25T14:06:54.502Z',
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
      id: '8422ce88d9c59e0d',
      state: 'open',
      openedAt: '2026-11-25T14:06:54.502Z',
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
      id: '8422ce88d9c59e0d',
      state: 'committed',
      openedAt: '2026-11-25T14:06:54.502Z',
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
      generation: '3b19a9216311a6c7',
      geometry: {
        segments: 2,
        pageSize: 512,
        hashes: 12,
        hashScheme: 2,
        counters: 46945280,
      },
      memoryBytes: 23472640,
      createdAt: '2026-11-25T14:06:57.120Z',
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
        scheduled: 0,
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
      generation: 'f0600c79eb7602b7',
      geometry: {
        segments: 2,
        pageSize: 512,
        hashes: 12,
        hashScheme: 2,
        counters: 46945280,
      },
      memoryBytes: 23472640,
      createdAt: '2026-11-25T14:06:59.104Z',
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
        scheduled: 0,
        dead: 0,
        forgotten: 0,
      },
    },
  },
  listQueuedUrls: {
    response: {
      urls: [
        {
          id: 'Xp0yZqIXjnDm3XIaT-WlIvTyA3MAAAAAAAEAAAAA',
          url: 'https://example.org/b',
          state: 'waiting',
          attempt: 0,
          queuedAt: '2026-11-27T07:20:22.000Z',
        },
        {
          id: 'Xp0yZgybR9A9hSLZOzoFRsqtq30AAAAAAAEAAAAA',
          url: 'https://example.org/archive/1',
          state: 'waiting',
          attempt: 0,
          queuedAt: '2026-11-27T07:20:22.000Z',
        },
      ],
    },
  },
  dropQueuedUrls: {
    request: {
      prefix: 'https://example.org/archive/',
      forget: true,
    },
    response: {
      matched: 1,
      dropped: 1,
      forgotten: 1,
    },
  },
  setHost: {
    request: {
      delaySeconds: 10,
      blockedUntil: '2030-01-31T12:00:00Z',
    },
    response: {
      host: 'example.org',
      waiting: 2,
      leased: 0,
      delayed: 0,
      scheduled: 0,
      dead: 0,
      nextAt: '2030-01-31T12:00:00.000Z',
      blockedUntil: '2030-01-31T12:00:00.000Z',
      delaySeconds: 10,
    },
  },
  getHost: {
    response: {
      host: 'example.org',
      waiting: 2,
      leased: 0,
      delayed: 0,
      scheduled: 0,
      dead: 0,
      nextAt: '2030-01-31T12:00:00.000Z',
      blockedUntil: '2030-01-31T12:00:00.000Z',
      delaySeconds: 10,
    },
  },
  listHosts: {
    response: {
      hosts: [
        {
          host: 'example.org',
          waiting: 2,
          leased: 0,
          delayed: 0,
          scheduled: 0,
          dead: 0,
          nextAt: '2030-01-31T12:00:00.000Z',
          blockedUntil: '2030-01-31T12:00:00.000Z',
          delaySeconds: 10,
        },
      ],
    },
  },
  dropHost: {
    response: {
      dropped: 2,
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
      generation: 'fb083a3f7a74514c',
      geometry: {
        segments: 1,
        pageSize: 512,
        hashes: 9,
        hashScheme: 2,
        counters: 15480832,
      },
      memoryBytes: 7740416,
      createdAt: '2026-11-25T14:06:59.438Z',
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
              page: 4188,
              cell: 'u4',
              claims: true,
              counters: [
                {
                  index: 2144302,
                  value: 1,
                },
                {
                  index: 2144382,
                  value: 1,
                },
                {
                  index: 2144410,
                  value: 1,
                },
                {
                  index: 2144442,
                  value: 1,
                },
                {
                  index: 2144516,
                  value: 1,
                },
                {
                  index: 2144524,
                  value: 1,
                },
                {
                  index: 2144600,
                  value: 1,
                },
                {
                  index: 2144732,
                  value: 1,
                },
                {
                  index: 2144750,
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
      since: '2026-11-25T14:06:59.542Z',
      intervalSeconds: 60,
      points: [
        {
          at: '2026-11-25T14:06:59.542Z',
          items: 1,
          fill: 5.813641023944967e-7,
          estimatedErrorRate: 9.28529434505376e-24,
          added: 2,
          duplicate: 1,
          removed: 1,
          refused: 1,
        },
        {
          at: '2026-11-25T14:06:59.544Z',
          items: 1,
          fill: 5.813641023944967e-7,
          estimatedErrorRate: 9.28529434505376e-24,
          added: 2,
          duplicate: 1,
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
      generation: 'fb083a3f7a74514c',
      geometry: {
        segments: 1,
        pageSize: 512,
        hashes: 9,
        hashScheme: 2,
        counters: 15480832,
      },
      memoryBytes: 7740416,
      createdAt: '2026-11-25T14:06:59.438Z',
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
      duplicate: 1,
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
          generation: 'fb083a3f7a74514c',
          geometry: {
            segments: 1,
            pageSize: 512,
            hashes: 9,
            hashScheme: 2,
            counters: 15480832,
          },
          memoryBytes: 7740416,
          createdAt: '2026-11-25T14:06:59.438Z',
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
          duplicate: 1,
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
      id: '180eebaa94a5ec53',
      state: 'open',
      openedAt: '2026-11-25T14:06:59.581Z',
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
      id: '180eebaa94a5ec53',
      state: 'open',
      openedAt: '2026-11-25T14:06:59.581Z',
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
      id: '180eebaa94a5ec53',
      state: 'open',
      openedAt: '2026-11-25T14:06:59.581Z',
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
      generation: '9ab7dcfa65d89717',
      geometry: {
        segments: 1,
        pageSize: 512,
        hashes: 9,
        hashScheme: 2,
        counters: 15480832,
      },
      memoryBytes: 7740416,
      createdAt: '2026-11-25T14:07:00.504Z',
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
      duplicate: 1,
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
      generation: '0589aa188b79304e',
      geometry: {
        segments: 1,
        pageSize: 512,
        hashes: 9,
        hashScheme: 2,
        counters: 15480832,
      },
      memoryBytes: 7740416,
      createdAt: '2026-11-25T14:07:01.133Z',
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
      id: 'e986a3f9bb988c79',
      name: 'ops',
      scopes: ['admin'],
      createdAt: '2026-11-25T14:07:01.158Z',
      key: 'unseen_…',
    },
  },
  getMe: {
    response: {
      id: 'key:e986a3f9bb988c79',
      name: 'ops',
      scopes: ['admin'],
    },
  },
  rotateKey: {
    request: {
      overlapSeconds: 3600,
    },
    response: {
      id: 'd4f1051a98a857b9',
      name: 'ops',
      scopes: ['admin'],
      createdAt: '2026-11-25T14:07:01.173Z',
      key: 'unseen_…',
    },
  },
  listKeys: {
    response: {
      keys: [
        {
          id: 'd4f1051a98a857b9',
          name: 'ops',
          scopes: ['admin'],
          createdAt: '2026-11-25T14:07:01.173Z',
        },
        {
          id: 'e986a3f9bb988c79',
          name: 'ops',
          scopes: ['admin'],
          createdAt: '2026-11-25T14:07:01.158Z',
          expiresAt: '2026-11-25T15:07:01.173Z',
          lastUsedAt: '2026-11-25T14:07:01.198Z',
        },
      ],
    },
  },
  revokeKey: {},
};
