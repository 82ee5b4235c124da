import { afterEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { startRedis, type RedisServer } from '../../../../../test/support/redis-server.js';
import { ReplicatedWrites, TooFewReplicasError } from './replicated-writes.js';

let server: RedisServer | undefined;
let client: Redis | undefined;
afterEach(async () => {
  client?.disconnect();
  await server?.stop();
});

describe('a write that needs a replica, on a server without replicas', () => {
  it('fails at its deadline, although the server has executed it', async () => {
    server = await startRedis();
    client = new Redis(server.port, '127.0.0.1');
    const writes = new ReplicatedWrites(client, 1);
    const write = { key: 'k', command: 'set', args: ['k', 'v'], binary: false, end: Date.now() + 300 };
    await expect(writes.send(write)).rejects.toThrow(TooFewReplicasError);
    expect(await client.get('k')).toBe('v');
  });
});
