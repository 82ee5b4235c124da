import { afterEach, describe, expect, it } from '@jest/globals';
import { serviceProgram } from './service-program.js';

const { onceInWorker } = globalThis;
afterEach(() => {
  globalThis.onceInWorker = onceInWorker;
});

describe('the programs that tests start', () => {
  it('are the same outside Jest, in npm run history', async () => {
    const folder = await serviceProgram();
    globalThis.onceInWorker = undefined;
    expect(await serviceProgram()).toBe(folder);
    expect(serviceProgram()).toBe(serviceProgram());
  });
});
