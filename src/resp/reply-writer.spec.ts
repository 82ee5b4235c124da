import { describe, expect, it } from '@jest/globals';
import { ProblemError } from '../errors/problem.js';
import { RespError, wrongArity, writeProblem } from './error-reply.js';
import { ReplyWriter, type Protocol, type Reply } from './reply-writer.js';

function written(protocol: Protocol, reply: Reply): string {
  const write = new ReplyWriter();
  write.protocol = protocol;
  reply(write);
  const { length } = write;
  const text = write.take();
  expect(length).toBe(text.length);
  expect(write.take()).toBe('');
  return text;
}

describe('replies', () => {
  it.each<[string, Reply, string, string]>([
    ['a simple string', (write) => write.simple('OK'), '+OK\r\n', '+OK\r\n'],
    ['an integer', (write) => write.integer(-7), ':-7\r\n', ':-7\r\n'],
    ['true', (write) => write.boolean(true), ':1\r\n', '#t\r\n'],
    ['false', (write) => write.boolean(false), ':0\r\n', '#f\r\n'],
    ['a double', (write) => write.double(0.01), '$4\r\n0.01\r\n', ',0.01\r\n'],
    ['a string in UTF-8', (write) => write.bulk('é'), '$2\r\n\xc3\xa9\r\n', '$2\r\n\xc3\xa9\r\n'],
    ['bytes', (write) => write.bytes('\xff\0'), '$2\r\n\xff\0\r\n', '$2\r\n\xff\0\r\n'],
    ['null', (write) => write.null(), '$-1\r\n', '_\r\n'],
    ['an array', (write) => write.array(2), '*2\r\n', '*2\r\n'],
    ['a map', (write) => write.map(2), '*4\r\n', '%2\r\n'],
  ])('have %s in both protocols', (_, reply, resp2, resp3) => {
    expect(written(2, reply)).toBe(resp2);
    expect(written(3, reply)).toBe(resp3);
  });

  it.each<[ProblemError, string]>([
    [new ProblemError('VALIDATION_FAILED', 'bad'), '-ERR bad\r\n'],
    [
      new ProblemError('UNAUTHENTICATED', 'of HTTP'),
      '-NOAUTH send a valid API key or token with AUTH or HELLO\r\n',
    ],
    [
      new ProblemError('RATE_LIMITED', 'of HTTP', { headers: { 'retry-after': '3' } }),
      '-RATE_LIMITED too many commands (RATE_LIMIT); wait for 3 s\r\n',
    ],
    [
      new ProblemError('STORE_UNAVAILABLE', 'of HTTP'),
      '-STORE_UNAVAILABLE the store is unavailable, and a command that changes data may have run\r\n',
    ],
    [
      new ProblemError('INTERNAL_ERROR', 'of HTTP'),
      '-INTERNAL_ERROR the service failed because of a defect; its log has the cause\r\n',
    ],
    [new ProblemError('FORBIDDEN', 'no'), '-NOPERM no\r\n'],
    [new ProblemError('FILTER_NOT_FOUND', 'filter "x"'), '-ERR not found: filter "x"\r\n'],
    [new ProblemError('STORE_FULL', 'full'), '-OOM full\r\n'],
    [new ProblemError('FILTER_FULL', 'full'), '-FILTER_FULL full\r\n'],
    [new RespError('WRONGTYPE', 'other'), '-WRONGTYPE other\r\n'],
    [wrongArity('CF.ADD'), "-ERR wrong number of arguments for 'cf.add' command\r\n"],
    [new ProblemError('VALIDATION_FAILED', 'a\r\nb…'), '-ERR a b\xe2\x80\xa6\r\n'],
  ])('name the error %s by its word, in one line', (problem, reply) => {
    expect(written(2, (write) => writeProblem(write, problem))).toBe(reply);
  });

  it('hide secrets in errors', () => {
    const problem = new ProblemError('VALIDATION_FAILED', 'https://user:secret@example.org/');
    expect(written(2, (write) => writeProblem(write, problem))).not.toContain('secret');
  });
});
