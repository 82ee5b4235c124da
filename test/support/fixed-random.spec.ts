import { afterEach, describe, expect, it } from '@jest/globals';
import type { ExportHeader } from '#store';
import { call, startApp } from './app.js';
import { readFile } from './export-files.js';
import { TEST_SEED } from './fixed-random.js';
import { startProcess } from './service-process.js';

const cleanUps: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function appUrl(): Promise<string> {
  const app = await startApp();
  cleanUps.push(() => app.close());
  return app.url;
}

async function processUrl(): Promise<string> {
  const service = await startProcess({ AUTH: 'none' });
  cleanUps.push(() => service.clean());
  return service.url();
}

async function headerOf(filter: string): Promise<ExportHeader> {
  const file = await fetch(`${filter}/export`);
  return (await readFile(Buffer.from(await file.arrayBuffer()))).header;
}

describe.each([
  ['in the process of a test', appUrl],
  ['in a process of its own', processUrl],
])('a service %s', (_, start) => {
  it('gives every filter the same seed, even after a clear, and a new generation each time', async () => {
    const url = await start();
    const headers: ExportHeader[] = [];
    for (const name of ['one', 'two']) {
      await call({ url }, 'POST', '/v1/filters', { name, type: 'counting', capacity: 10, errorRate: 0.1 });
      headers.push(await headerOf(`${url}/v1/filters/${name}`));
      await call({ url }, 'POST', `/v1/filters/${name}/clear`);
      headers.push(await headerOf(`${url}/v1/filters/${name}`));
    }
    for (const { seed } of headers) expect(Buffer.from(seed)).toEqual(Buffer.from(TEST_SEED));
    expect(new Set(headers.map(({ generation }) => generation)).size).toBe(headers.length);
  });
});
