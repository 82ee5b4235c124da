import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { cliProgram } from '../support/redis-cli.js';
import { respCommand } from '../support/resp-client.js';

/** A third-party client's connection. Replies have the form that the client's users get. */
export interface Driver {
  call(...args: string[]): Promise<unknown>;
  /** Sends the commands without waiting for replies. Resolves once all have replied, and throws if one got an error. */
  pipeline(commands: readonly (readonly string[])[]): Promise<void>;
  close(): Promise<void>;
}

/** A client, and the protocol version that it speaks. */
export interface DriverKind {
  readonly name: string;
  readonly protocol: Protocol;
  connect(port: number): Promise<Driver>;
}

const PROTOCOLS = [2, 3] as const;
type Protocol = (typeof PROTOCOLS)[number];

async function ioredis(port: number, protocol: Protocol): Promise<Driver> {
  const mapping = protocol === 3 ? ({ replyMapping: 'resp3' } as const) : {};
  const redis = new Redis(port, '127.0.0.1', { maxRetriesPerRequest: 0, protocol, ...mapping });
  return {
    call: async (name = '', ...args) => redis.call(name, ...args),
    async pipeline(commands) {
      const pipeline = redis.pipeline();
      for (const [name = '', ...args] of commands) pipeline.call(name, ...args);
      for (const [error] of (await pipeline.exec()) ?? []) if (error) throw error;
    },
    close: async () => redis.disconnect(),
  };
}

async function nodeRedis(port: number, RESP: Protocol): Promise<Driver> {
  const client = createClient({ socket: { port, host: '127.0.0.1', reconnectStrategy: false }, RESP });
  client.on('error', () => undefined);
  await client.connect();
  return {
    call: async (...args) => client.sendCommand(args),
    async pipeline(commands) {
      const multi = client.multi();
      for (const args of commands) multi.addCommand([...args]);
      await multi.execAsPipeline();
    },
    close: () => client.close(),
  };
}

async function redisCli(port: number, protocol: Protocol): Promise<Driver> {
  const run = async (args: readonly string[], input: Buffer): Promise<string> => {
    const child = spawn(cliProgram(), ['-p', String(port), `-${protocol}`, ...args]);
    child.stdin.end(input);
    const closed = once(child, 'close');
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
    await closed;
    if (child.exitCode !== 0) throw new Error(`redis-cli: ${out}${err}`);
    return out;
  };
  return {
    call: async (...args) => JSON.parse(await run(['-e', '--json', ...args], Buffer.alloc(0))) as unknown,
    async pipeline(commands) {
      const sent = Buffer.concat(commands.map((args) => respCommand(...args)));
      const out = await run(['--pipe'], sent);
      if (!out.includes(`errors: 0, replies: ${commands.length}\n`)) throw new Error(`redis-cli: ${out}`);
    },
    close: async () => undefined,
  };
}

const CLIENTS = { ioredis, 'node-redis': nodeRedis, 'redis-cli': redisCli };

/** Each client in each protocol. */
export const DRIVERS: readonly DriverKind[] = Object.entries(CLIENTS).flatMap(([client, connect]) =>
  PROTOCOLS.map((protocol) => ({
    name: `${client} in RESP ${protocol}`,
    protocol,
    connect: (port: number) => connect(port, protocol),
  })),
);
