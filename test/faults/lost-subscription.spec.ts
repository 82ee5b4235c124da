import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { Connection, type ConnectionOptions } from '../../libs/store/src/redis/connection/connection.js';
import { startCluster } from '../support/redis-cluster.js';
import { startSentinel } from '../support/redis-sentinel.js';
import { startRedis } from '../support/redis-server.js';
import { until } from '../support/until.js';

const CHANNEL = 'news';
const LOSSES = 5;

it('a connection that is lost while it subscribes again ends no process, and hears messages afterwards', async () => {
  const redis = await startRedis();
  let subscriptions = 0;
  const sockets = new Set<Socket>();
  // Cuts the connection instead of delivering the next subscriptions after the first.
  const proxy = createServer((client) => {
    const upstream = connect(redis.port, '127.0.0.1');
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    }
    client.on('data', (bytes) => {
      if (/subscribe/i.test(bytes.toString()) && ++subscriptions > 1 && subscriptions <= 1 + LOSSES)
        client.destroy();
      else upstream.write(bytes);
    });
    client.on('close', () => upstream.destroy());
    upstream.pipe(client);
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const { port } = proxy.address() as AddressInfo;
  const own = new Redis(redis.port, '127.0.0.1');
  const connection = new Connection({ url: `redis://127.0.0.1:${port}`, timeoutMs: 10_000 });
  let heard = 0;
  connection.onMessage(() => heard++);
  try {
    connection.subscribe(CHANNEL);
    const listeners = async () => (await own.pubsub('NUMSUB', CHANNEL))[1];
    await until('the client has subscribed', async () => (await listeners()) === 1);
    for (const socket of sockets) socket.destroy();
    await until('the client has lost its subscriptions', async () => subscriptions > 1 + LOSSES);
    await until('the client hears messages', async () => {
      await own.publish(CHANNEL, '');
      return heard > 0;
    });
    expect(connection.connected).toBe(true);
  } finally {
    await connection.close();
    own.disconnect();
    proxy.close();
    await redis.stop();
  }
});

type Address = Pick<ConnectionOptions, 'clusterNodes' | 'sentinel'>;

/** Loses subscriptions several times, on each of the servers, and checks that messages arrive after each loss. */
async function loseSubscriptions(address: Address, ports: readonly number[]): Promise<void> {
  const servers = ports.map((port) => new Redis(port, '127.0.0.1'));
  const connection = new Connection({ ...address, timeoutMs: 10_000 });
  let heard = 0;
  connection.onMessage(() => heard++);
  try {
    await connection.firstTry();
    connection.subscribe(CHANNEL);
    for (let losses = 0; losses <= LOSSES; losses++) {
      const before = heard;
      await until('the client hears messages', async () => {
        await servers[0]?.publish(CHANNEL, '');
        return heard > before;
      });
      const cut = await Promise.all(
        servers.map(async (server) => Number(await server.call('CLIENT', 'KILL', 'TYPE', 'pubsub'))),
      );
      // Sentinels subscribe too.
      expect(Math.max(...cut)).toBeGreaterThanOrEqual(1);
    }
  } finally {
    await connection.close();
    for (const server of servers) server.disconnect();
  }
}

it('a cluster client whose subscription is lost again and again hears messages after each loss', async () => {
  const cluster = await startCluster();
  try {
    const ports = cluster.servers.map(({ port }) => port);
    await loseSubscriptions({ clusterNodes: cluster.nodes }, ports);
  } finally {
    await cluster.stop();
  }
});

it('a Sentinel client whose subscription is lost again and again hears messages after each loss', async () => {
  const { name, nodes, master, stop } = await startSentinel();
  try {
    await loseSubscriptions({ sentinel: { nodes, master: name } }, [master.port]);
  } finally {
    await stop();
  }
});
