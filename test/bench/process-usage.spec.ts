import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { cpuMicros, listensOn, shareBetween } from './process-usage.js';

const LINUX = process.platform === 'linux';

(LINUX ? describe : describe.skip)('process usage from /proc (needs Linux)', () => {
  it('tells whether a process listens on a port', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    expect(listensOn(process.pid, port)).toBe(true);
    expect(listensOn(process.ppid, port)).toBe(false);
    server.close();
    await once(server, 'close');
    expect(listensOn(process.pid, port)).toBe(false);
  });

  it('tells how much CPU time a process has used', () => {
    const before = cpuMicros(process.pid);
    expect(before).toBeGreaterThan(0);
    let sum = 0;
    for (let i = 0; i < 50_000_000; i++) sum += i % 7;
    expect(sum).toBeGreaterThan(0);
    expect(cpuMicros(process.pid)).toBeGreaterThan(before);
  });
});

it('tells the share of all cores’ time in which they were not idle', () => {
  const core = (user: number, idle: number) => ({ times: { user, nice: 0, sys: 0, idle, irq: 0 } });
  expect(shareBetween([core(0, 0), core(7, 5)], [core(100, 0), core(57, 55)])).toBe(0.75);
});
