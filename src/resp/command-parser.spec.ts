import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { CommandParser, ProtocolFault, type CommandLimits, type RespCommand } from './command-parser.js';

const LIMITS: CommandLimits = { maxArguments: 100, maxArgumentBytes: 1_000, maxCommandBytes: 5_000 };

function encode(args: readonly Buffer[]): Buffer {
  const parts = args.map((arg) =>
    Buffer.concat([Buffer.from(`$${arg.length}\r\n`), arg, Buffer.from('\r\n')]),
  );
  return Buffer.concat([Buffer.from(`*${args.length}\r\n`), ...parts]);
}

function argumentsOf({ bytes, span }: RespCommand): string[] {
  const found: string[] = [];
  for (let i = 0; i < span.length; i += 2) found.push(bytes.toString('latin1', span[i], span[i + 1]));
  return found;
}

/** All commands in an input that arrives in these pieces. */
function parsed(pieces: readonly Buffer[], limits = LIMITS): string[][] {
  const parser = new CommandParser(limits);
  const found: RespCommand[] = [];
  for (const piece of pieces) {
    parser.push(piece);
    for (let one = parser.next(); one; one = parser.next()) found.push(one);
  }
  expect(parser.unreadBytes).toBe(0);
  // Read at the end, because later input must not change earlier commands.
  return found.map(argumentsOf);
}

const commands = fc.array(
  fc.array(
    fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
    { minLength: 1, maxLength: 6 },
  ),
  { minLength: 1, maxLength: 5 },
);
const faultOf = (input: string, limits = LIMITS): string => {
  const parser = new CommandParser(limits);
  parser.push(Buffer.from(input, 'latin1'));
  try {
    while (parser.next());
    return 'no fault';
  } catch (error) {
    expect(error).toBeInstanceOf(ProtocolFault);
    return (error as Error).message;
  }
};

describe('the command parser', () => {
  it('reads the same commands from input cut at any byte', () => {
    fc.assert(
      fc.property(commands, (sent) => {
        const whole = Buffer.concat(sent.map(encode));
        const expected = sent.map((args) => args.map((arg) => arg.toString('latin1')));
        for (let cut = 0; cut <= whole.length; cut++) {
          expect(parsed([whole.subarray(0, cut), whole.subarray(cut)])).toEqual(expected);
        }
        expect(parsed(Array.from(whole, (_, i) => whole.subarray(i, i + 1)))).toEqual(expected);
      }),
      { numRuns: 60 },
    );
  });

  it('throws only protocol faults for any input, cut anywhere', () => {
    const word = fc.constantFrom(
      '*',
      '$',
      '\r\n',
      '1',
      '3',
      '-1',
      '\r',
      '\n',
      'GET',
      '0',
      '99999999999',
      ' ',
      '+',
    );
    fc.assert(
      fc.property(fc.array(word, { maxLength: 12 }), fc.nat(30), (words, cut) => {
        const input = Buffer.from(words.join(''));
        const outcomes = [[input], [input.subarray(0, cut), input.subarray(cut)]].map((pieces) => {
          const parser = new CommandParser(LIMITS);
          try {
            let count = 0;
            for (const piece of pieces) {
              parser.push(piece);
              while (parser.next()) count++;
            }
            return count;
          } catch (error) {
            expect(error).toBeInstanceOf(ProtocolFault);
            return (error as Error).message;
          }
        });
        expect(outcomes[1]).toEqual(outcomes[0]);
      }),
      { numRuns: 2_000 },
    );
  });

  it('reads a command that arrives in many pieces without a copy for each piece', () => {
    const limits = { ...LIMITS, maxArgumentBytes: 2 ** 21, maxCommandBytes: 2 ** 22 };
    const input = encode([Buffer.alloc(2 ** 20, 'x'), Buffer.from('end')]);
    const pieces = Array.from({ length: Math.ceil(input.length / 7) }, (_, i) =>
      input.subarray(7 * i, 7 * i + 7),
    );
    const [command] = parsed(pieces, limits);
    expect(command?.map(({ length }) => length)).toEqual([2 ** 20, 3]);
  });

  it.each([
    ['POST / HTTP/1.1\r\nHost: unseen\r\n\r\n', 'a command must be an array of bulk strings'],
    ['PING\r\n', 'a command must be an array of bulk strings'],
    ['*1\r\n+PING\r\n', 'each argument of a command must be a bulk string'],
    ['*0\r\n', 'a command must have a name'],
    ['*-1\r\n', 'a length must be a whole number'],
    ['*1\r\n$-1\r\n', 'a length must be a whole number'],
    ['*1\r\n$4\r\nPINGS\r\n', 'an argument is longer than its announced length'],
    ['*1\n$4\nPING\n', 'a length must be a whole number'],
    ['*1\r$', 'a line must end with CR LF'],
    ['*99999999999999', 'a length has too many digits'],
    ['*1\r\n$99999999999\r\n', 'a length has too many digits'],
    ['*101\r\n', 'a command may have at most 100 arguments here, not 101'],
    ['*2\r\n$1001\r\n', 'an argument may have at most 1000 bytes here, not 1001'],
  ])('refuses %j', (input, fault) => {
    expect(faultOf(input)).toBe(fault);
  });

  it('skips empty lines after the first command', () => {
    const ping = '*1\r\n$4\r\nPING\r\n';
    const input = Buffer.from(`${ping}\r\n\r\n${ping}\r\n`);
    for (let cut = 0; cut <= input.length; cut++) {
      expect(parsed([input.subarray(0, cut), input.subarray(cut)])).toHaveLength(2);
    }
    expect(faultOf(`\r\n${ping}`)).toBe('a command must be an array of bulk strings');
    expect(faultOf(`${ping}\rx`)).toBe('a command must be an array of bulk strings');
  });

  it('reads nothing after a fault', () => {
    const parser = new CommandParser(LIMITS);
    parser.push(Buffer.from('*1\r\n$1001\r\n*1\r\n$4\r\nPING\r\n'));
    const fault = 'an argument may have at most 1000 bytes here, not 1001';
    expect(() => parser.next()).toThrow(fault);
    expect(() => parser.next()).toThrow(fault);
  });

  it('keeps no memory between commands', () => {
    const parser = new CommandParser({ ...LIMITS, maxArgumentBytes: 2 ** 20, maxCommandBytes: 2 ** 21 });
    const input = encode([Buffer.alloc(2 ** 20, 'x')]);
    for (const piece of [input.subarray(0, 1_000), input.subarray(1_000)]) parser.push(piece);
    expect(parser.next()).toBeDefined();
    expect(parser.next()).toBeUndefined();
    expect(parser['bytes']).toHaveLength(0);
  });

  it('refuses a command that would exceed the limit, before its argument arrives', () => {
    const limits = { ...LIMITS, maxCommandBytes: 50 };
    expect(faultOf('*3\r\n$20\r\naaaaaaaaaaaaaaaaaaaa\r\n$20\r\n', limits)).toBe(
      'a command may have at most 50 bytes here',
    );
  });
});
