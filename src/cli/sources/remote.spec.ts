import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { Unreachable } from '../ending.js';
import { openRemote, Silence } from './remote.js';

const LIMIT_MS = 60_000;

describe('a source on the web', () => {
  afterEach(() => {
    jest.useRealTimers();
  });

  it('counts as silent only while its reader waits for it, not while the reader is busy', async () => {
    jest.useFakeTimers();
    const silence = new Silence(LIMIT_MS);
    const aborted = new Promise<never>((_, reject) => {
      silence.signal.addEventListener('abort', () => reject(silence.signal.reason as Error));
    });
    async function* source(): AsyncGenerator<string> {
      yield 'first';
      yield 'second';
      await aborted;
    }
    const chunks = silence.watch(source());
    for (const value of ['first', 'second']) {
      expect(await chunks.next()).toEqual({ done: false, value });
      jest.advanceTimersByTime(10 * LIMIT_MS);
      expect(silence.signal.aborted).toBe(false);
    }
    const next = chunks.next();
    jest.advanceTimersByTime(LIMIT_MS - 1);
    expect(silence.signal.aborted).toBe(false);
    jest.advanceTimersByTime(1);
    await expect(next).rejects.toThrow('it sent nothing for 60 s');
    expect(jest.getTimerCount()).toBe(0);
  });

  it.each<[string, RequestListener]>([
    ['before its answer', () => undefined],
    ['in its answer', (_, response) => void response.write('first\n')],
  ])('times out if it is silent %s', async (_, listener) => {
    const server = createServer(listener).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/list`;
    const read = async (): Promise<void> => {
      const { stream } = await openRemote(url, new AbortController().signal, 20);
      for await (const chunk of stream) expect(String(chunk)).toBe('first\n');
    };
    const error = await read().catch((thrown: unknown) => thrown);
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
    expect(error).toBeInstanceOf(Unreachable);
    expect((error as Error).message).toMatch(/^cannot fetch ".*\/list": it sent nothing for 0\.02 s$/);
  });
});
