import { expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { TalliedCounter } from './tallied-counter.js';

it('a tallied counter adds up the counts by labels, including zeros, and counts each once', async () => {
  const registry = new Registry();
  const labelNames = ['verb', 'status'];
  const counter = new TalliedCounter({ name: 'n', help: 'n', labelNames, registers: [registry] });
  counter.add(2, 'add', 200);
  counter.add(3, 'add', 200);
  counter.add(0, 'add', 503);
  expect(await registry.metrics()).toContain('n{verb="add",status="200"} 5');
  counter.add(1, 'add', 200);
  const text = await registry.metrics();
  expect(text).toContain('n{verb="add",status="200"} 6');
  expect(text).toContain('n{verb="add",status="503"} 0');
});
