import { Writable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { createLogger } from './logger.js';
import { RequestLogger } from './request-logger.js';

describe('RequestLogger', () => {
  it('names the request in each of its lines, at every level', () => {
    const lines: object[] = [];
    const destination = new Writable({
      write: (chunk: Buffer, _, done) => {
        lines.push(JSON.parse(chunk.toString()) as object);
        done();
      },
    });
    const logger = new RequestLogger(createLogger({ logLevel: 'trace' }, destination), { reqId: 'r-1' });
    const levels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const;
    for (const level of levels) logger[level]({ route: '/' }, 'said');
    logger.silent('not said');
    logger.child({ part: 'a' }).info('said');
    expect(logger.level).toBe('trace');
    expect(lines).toHaveLength(levels.length + 1);
    for (const line of lines) expect(line).toMatchObject({ reqId: 'r-1', msg: 'said' });
    expect(lines[0]).toMatchObject({ route: '/' });
    expect(lines.at(-1)).toMatchObject({ part: 'a' });
  });
});
