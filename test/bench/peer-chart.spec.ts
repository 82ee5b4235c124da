import { describe, expect, it } from '@jest/globals';
import { peerChart } from './peer-chart.js';

describe('the peers chart', () => {
  it('shows the real mix with its parts, least CPU first', () => {
    const svg = peerChart([
      { name: 'mix/sadd-sha1-pipelined', cpu: { client: 6, server: 2 } },
      { name: 'mix/unseen-redis-items', cpu: { client: 0.5, service: 1, server: 1.5 } },
      { name: 'new/npm-bloom-filters', cpu: { client: 20 } },
      { name: 'embedded-1e6/memory', bytesPerItem: 5 },
    ]);
    expect(svg).toMatch(
      /unseen-redis-items[^]*3 · client 0.5, service 1, Redis 1.5[^]*sadd-sha1-pipelined[^]*8 · client 6, Redis 2/,
    );
    expect(svg).not.toContain('npm-bloom-filters');
  });

  it('is omitted if the mix was not measured', () => {
    expect(peerChart([{ name: 'new/npm-bloom-filters', cpu: { client: 20 } }])).toBeUndefined();
  });
});
