import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { format } from '../../scripts/format.mjs';
import { EXAMPLES } from '../../src/openapi/examples.js';
import { tellStory } from '../support/api-story.js';
import type { TestApp } from '../support/app.js';
import { STORES } from './stores.js';

const FILE = 'src/openapi/examples.ts';

/** Members whose values differ between runs or stores. */
const VARYING = new Set([
  ...['id', 'key', 'generation', 'createdAt', 'openedAt', 'queuedAt', 'lastUsedAt', 'requestId', 'warnings'],
  ...[
    'at',
    'since',
    'expiresAt',
    'pages',
    'page',
    'segment',
    'sampledPages',
    'values',
    'index',
    'value',
    'points',
  ],
  ...['segments', 'counters', 'memoryBytes', 'bytes', 'fill', 'estimatedErrorRate', 'oldestSeconds'],
]);

/** The value with varying members replaced by their types. */
function shape(value: unknown, member = ''): unknown {
  if (VARYING.has(member)) return Array.isArray(value) ? 'array' : typeof value;
  // Ids in requests come from earlier answers.
  if (member === 'ids' && Array.isArray(value)) return value.map((one) => typeof one);
  // Keys are sorted by their ids, which are random.
  if (member === 'keys' && Array.isArray(value)) return value.map((one) => JSON.stringify(shape(one))).sort();
  if (Array.isArray(value)) return value.map((one) => shape(one));
  if (typeof value !== 'object' || value === null) return value;
  // The examples come from the embedded store.
  const members = Object.entries(value).filter(([name]) => name !== 'redisKey');
  return Object.fromEntries(members.map(([name, one]) => [name, shape(one, name)]));
}

async function write(told: ReadonlyMap<string, unknown>): Promise<void> {
  const text = JSON.stringify(Object.fromEntries(told), undefined, 2).replace(/"unseen_\w+"/g, '"unseen_…"');
  const [head] = readFileSync(FILE, 'utf8').split('export const EXAMPLES');
  const source = `${head}export const EXAMPLES: Readonly<Record<string, Example>> = ${text};\n`;
  writeFileSync(FILE, await format(FILE, source));
}

describe.each(STORES)('the API description’s examples, $name store', ({ name, start }) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await start();
  });
  afterAll(() => app.close());

  it('are accepted by the service, which answers them', async () => {
    const told = await tellStory(app);
    // UPDATE_EXAMPLES=1 writes the examples again.
    if (process.env['UPDATE_EXAMPLES'] === '1' && name === 'embedded') return write(told);
    for (const [id, example] of told) expect([id, shape(example)]).toEqual([id, shape(EXAMPLES[id])]);
    expect(Object.keys(EXAMPLES).sort()).toEqual([...told.keys()].sort());
  });

  it('exist for every operation that accepts or returns JSON', async () => {
    const response = await fetch(`${app.url}/openapi.json`);
    const { paths } = (await response.json()) as {
      paths: Record<string, Record<string, OperationObject>>;
    };
    for (const operation of Object.values(paths).flatMap((item) => Object.values(item))) {
      const { operationId, requestBody, responses } = operation;
      const bodies = [requestBody, responses['200'], responses['201']].map(
        (body) => body?.content?.['application/json'],
      );
      for (const body of bodies.filter((one) => one !== undefined))
        expect([operationId, 'example' in body]).toEqual([operationId, true]);
    }
  });
});

interface Body {
  readonly content?: Readonly<Record<string, object>>;
}

interface OperationObject {
  readonly operationId: string;
  readonly requestBody?: Body;
  readonly responses: Readonly<Record<string, Body | undefined>>;
}
