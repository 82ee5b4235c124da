import { describe, expect, it } from '@jest/globals';
import { respCommand } from '../../test/support/resp-client.js';
import { CommandParser } from './command-parser.js';
import { ITEM_COMMANDS } from './item-commands.js';
import { RunReader } from './run-reader.js';

const LIMITS = { maxArguments: 100, maxArgumentBytes: 1_000, maxCommandBytes: 5_000 };

/** The number of calls in each run that a pipeline makes. */
function runsOf(commands: readonly (readonly string[])[], maxItems = 100): number[] {
  const parser = new CommandParser(LIMITS);
  parser.push(Buffer.concat(commands.map((args) => respCommand(...args))));
  const reader = new RunReader(parser, new Map(Object.entries(ITEM_COMMANDS)), maxItems);
  const runs: number[] = [];
  for (let unit = reader.next(); unit; unit = reader.next()) {
    runs.push(unit.kind === 'items' ? unit.begins.length - 1 : 0);
  }
  return runs;
}

const three = (...args: string[]): string[][] => ['a', 'b', 'c'].map((item) => [...args, item]);

describe('a pipeline', () => {
  it.each([
    ['a command on the items of a filter', three('CF.ADD', 'f')],
    ['UNSEEN.* without options', three('UNSEEN.CHECK', 's', 'URLS')],
    ['UNSEEN.* with equal options', three('UNSEEN.DISCOVER', 's', 'PRIORITY', 'low', 'URLS')],
  ])('joins the calls of %s', (_, commands) => {
    expect(runsOf(commands)).toEqual([3]);
  });

  it('joins no more items than a batch may have', () => {
    expect(runsOf(three('CF.ADD', 'f'), 2)).toEqual([2, 1]);
  });

  it('does not join calls of other commands, or with other names or options', () => {
    const commands = [
      ...three('UNSEEN.DISCOVER', 's', 'URLS'),
      ...three('UNSEEN.DISCOVER', 's', 'DELAY', '1', 'URLS'),
      ...three('UNSEEN.DISCOVER', 's', 'DELAY', '2', 'URLS'),
      ...three('UNSEEN.DISCOVER', 't', 'DELAY', '2', 'URLS'),
      ...three('UNSEEN.VISIT', 't', 'URLS'),
    ];
    expect(runsOf(commands)).toEqual([3, 3, 3, 3, 3]);
  });

  it('does not join calls with a key', () => {
    expect(runsOf(three('UNSEEN.VISIT', 's', 'KEY', 'k', 'URLS'))).toEqual([1, 1, 1]);
  });
});
