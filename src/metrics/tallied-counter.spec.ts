import { describe, expect, it } from '@jest/globals';
import { Counter, Registry } from 'prom-client';
import { TalliedCounter } from './tallied-counter.js';

describe('TalliedCounter', () => {
  it('adds the counts since the last flush to the counter, by labels, including zeros', async () => {
    const registry = new Registry();
    const counter = new TalliedCounter(
      new Counter({ name: 'n', help: 'n', labelNames: ['verb', 'status'], registers: [registry] }),
    );
    counter.add(2, 'add', 200);
    counter.add(3, 'add', 200);
    counter.add(0, 'add', 503);
    expect(await registry.metrics()).not.toContain('add');
    counter.flush();
    counter.flush();
    counter.add(1, 'add', 200);
    counter.flush();
    const text = await registry.metrics();
    expect(text).toContain('n{verb="add",status="200"} 6');
    expect(text).toContain('n{verb="add",status="503"} 0');
  });
});
