import { describe, expect, it } from '@jest/globals';
import { createLogger } from './logger.js';

const KEY = `unseen_0123456789abcdef_${'s'.repeat(43)}`;
const TOKEN = `eyJ${'h'.repeat(20)}.eyJ${'p'.repeat(20)}.${'g'.repeat(40)}`;

function logged(log: (logger: ReturnType<typeof createLogger>) => void): Record<string, unknown> {
  let text = '';
  log(createLogger({ logLevel: 'trace' }, { write: (line: string) => (text += line) }));
  return JSON.parse(text) as Record<string, unknown>;
}

describe('the log', () => {
  it('shows no credentials anywhere', () => {
    const line = logged((logger) => {
      logger.trace(
        { any: { thing: `x ${KEY} y` }, list: [TOKEN] },
        `Bearer ${TOKEN} for https://user:p@ss@secret@host/a, redis://:se@cret@b.example.`,
      );
    });
    expect(line).toMatchObject({
      any: { thing: 'x unseen_0123456789abcdef_*** y' },
      list: ['***'],
      msg: 'Bearer *** for https://***@host/a, redis://***@b.example.',
    });
  });

  it('has only the basic data of an error, not the objects attached to it', () => {
    const command = { name: 'auth', args: ['user', 'secret'] };
    const cause = Object.assign(new Error('refused', { cause: new TypeError('why') }), { command });
    const error = Object.assign(new Error('failed', { cause }), { code: 'E1', request: { body: 'secret' } });
    const { err } = logged((logger) => logger.error({ err: error }, 'x'));
    expect(err).toMatchObject({
      type: 'Error',
      message: 'failed',
      code: 'E1',
      stack: expect.stringContaining('Error: failed'),
      cause: { message: 'refused', cause: { type: 'TypeError', message: 'why' } },
    });
    expect(JSON.stringify(err)).not.toContain('secret');
  });

  it('handles an error that is its own cause', () => {
    const error = new Error('round');
    error.cause = error;
    expect(logged((logger) => logger.error({ err: error })).err).toMatchObject({
      cause: { message: 'round' },
    });
  });
});
