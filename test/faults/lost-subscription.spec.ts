import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { Connection } from '../../libs/store/src/redis/connection/connection.js';
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
