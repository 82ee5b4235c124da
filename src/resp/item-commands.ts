import type { CommandArguments, ItemCommand, ItemResult, ItemResults, ItemsHead } from './command.js';
import { syntaxError, wrongArity, writeProblem } from './error-reply.js';
import { ProblemError } from '../errors/problem.js';
import { orderOf } from '../visited-sets/order.js';
import { ttlOf } from '../visited-sets/ttl.js';
import type { OptionName } from './option-names.js';
import { numberIn, optionsIn } from './options.js';
import type { ReplyWriter } from './reply-writer.js';

/** The service results that mean "yes": added, present or removed. */
const YES: ReadonlySet<ItemResult> = new Set<ItemResult>([true, 'new', 'removed', 'forgotten']);
/** The same for checks, in which `seen` means yes. */
const PRESENT: ReadonlySet<ItemResult> = new Set<ItemResult>([true, 'seen']);

type WriteItem = (write: ReplyWriter, result: ItemResult) => void;

const word: WriteItem = (write, result) => write.bulk(String(result));
const changed: WriteItem = (write, result) => write.boolean(YES.has(result));
const present: WriteItem = (write, result) => write.boolean(PRESENT.has(result));
const member: WriteItem = (write, result) => write.integer(PRESENT.has(result) ? 1 : 0);
const multiplicity: WriteItem = (write, result) => write.integer(result as number);
/** Always true, because a multiset counts every item it gets. */
const counted: WriteItem = (write) => write.boolean(true);
/** Like `counted`, but RedisBloom reports a full filter as -1 in an array. */
const countedOrFull: WriteItem = (write, result) => {
  if (result instanceof ProblemError && result.code === 'FILTER_FULL') write.integer(-1);
  else counted(write, result);
};

/** An integer in both protocols, because it has three values. */
const countedIfAbsent: WriteItem = (write, result) => {
  if (result instanceof ProblemError) write.integer(-1);
  else write.integer(YES.has(result) ? 1 : 0);
};

/** Answers a call that has one item. */
const one =
  (item: WriteItem) =>
  (write: ReplyWriter, { all, from }: ItemResults): void =>
    item(write, all[from] as ItemResult);

/** Answers with an array: a value, or an error, for each item. */
const each =
  (item: WriteItem) =>
  (write: ReplyWriter, { all, from, to }: ItemResults): void => {
    write.array(to - from);
    for (let i = from; i < to; i++) {
      const result = all[i] as ItemResult;
      if (item === changed && result instanceof ProblemError) writeProblem(write, result);
      else item(write, result);
    }
  };

/** Answers with the number of items that changed. */
function sum(write: ReplyWriter, { all, from, to }: ItemResults): void {
  let count = 0;
  for (let i = from; i < to; i++) if (YES.has(all[i] as ItemResult)) count++;
  write.integer(count);
}

const AFTER_NAME: ItemsHead = { firstItem: 1 };
const afterName = (): ItemsHead => AFTER_NAME;

/**
 * An insertion's options, which precede `ITEMS`: flags, and numbers by their names. All but NOCREATE describe a filter
 * to create. As in RedisBloom, they have no effect on a filter that exists. This service never creates one here.
 */
const afterItems =
  (name: string, flags: readonly string[], numbers: readonly string[]) =>
  (args: CommandArguments): ItemsHead => {
    for (let i = 1; i < args.count; i++) {
      const word = args.word(i);
      if (word === 'ITEMS') {
        if (i + 1 === args.count) throw wrongArity(name);
        return { firstItem: i + 1 };
      }
      if (flags.includes(word)) continue;
      if (!numbers.includes(word)) break;
      i++;
      if (i === args.count) throw syntaxError(`${word} needs a value`);
      numberIn(args, i);
    }
    throw syntaxError('ITEMS is missing before the items');
  };
const afterCuckooItems = (name: string) => afterItems(name, ['NOCREATE'], ['CAPACITY']);

/** Reads the options before URLs. */
const urlHead =
  (...names: OptionName[]) =>
  (args: CommandArguments): ItemsHead => {
    const { firstItem, key, body } = optionsIn(args, names, 'URLS');
    const source = { query: {}, body };
    return { firstItem, options: { key, body, ttlMs: ttlOf(source), ...orderOf(source) } };
  };

const ONE = { kind: 'items', least: 2, most: 2, head: afterName } as const;
const MANY = { kind: 'items', least: 2, head: afterName, each: true } as const;
const SUM = { kind: 'items', least: 2, head: afterName } as const;
const INSERT = { kind: 'items', least: 3, each: true } as const;
const CF = { type: 'MBbloomCF' } as const;
const BF = { type: 'MBbloom--' } as const;
const SET = { type: 'set' } as const;
const URLS = { kind: 'items', least: 3, ...SET, urls: true, answer: each(word) } as const;

/** The commands on items, by name. */
export const ITEM_COMMANDS: Readonly<Record<string, ItemCommand>> = {
  'CF.ADD': { ...ONE, ...CF, verb: 'add', answer: one(counted) },
  'CF.INSERT': {
    ...INSERT,
    ...CF,
    verb: 'add',
    head: afterCuckooItems('CF.INSERT'),
    answer: each(countedOrFull),
  },
  'CF.ADDNX': { ...ONE, ...CF, verb: 'add', onlyAbsent: true, answer: one(changed) },
  'CF.INSERTNX': {
    ...INSERT,
    ...CF,
    verb: 'add',
    onlyAbsent: true,
    head: afterCuckooItems('CF.INSERTNX'),
    answer: each(countedIfAbsent),
  },
  'CF.EXISTS': { ...ONE, ...CF, verb: 'check', answer: one(present) },
  'CF.MEXISTS': { ...MANY, ...CF, verb: 'check', answer: each(present) },
  'CF.DEL': { ...ONE, ...CF, verb: 'remove', answer: one(changed) },
  'CF.COUNT': { ...ONE, ...CF, verb: 'count', answer: one(multiplicity) },
  'BF.ADD': { ...ONE, ...BF, verb: 'add', answer: one(changed) },
  'BF.MADD': { ...MANY, ...BF, verb: 'add', answer: each(changed) },
  'BF.INSERT': {
    ...INSERT,
    ...BF,
    verb: 'add',
    head: afterItems('BF.INSERT', ['NOCREATE', 'NONSCALING'], ['CAPACITY', 'ERROR', 'EXPANSION']),
    answer: each(changed),
  },
  'BF.EXISTS': { ...ONE, ...BF, verb: 'check', answer: one(present) },
  'BF.MEXISTS': { ...MANY, ...BF, verb: 'check', answer: each(present) },
  SADD: { ...SUM, ...SET, verb: 'add', answer: sum },
  SREM: { ...SUM, ...SET, verb: 'remove', answer: sum },
  SISMEMBER: { ...ONE, ...SET, verb: 'check', answer: one(member) },
  SMISMEMBER: { ...MANY, ...SET, verb: 'check', answer: each(member) },
  'UNSEEN.DISCOVER': { ...URLS, verb: 'discover', head: urlHead('KEY', 'TTL', 'PRIORITY', 'DELAY') },
  'UNSEEN.VISIT': { ...URLS, verb: 'add', head: urlHead('KEY', 'TTL') },
  'UNSEEN.CHECK': { ...URLS, verb: 'check', head: urlHead() },
  'UNSEEN.FORGET': { ...URLS, verb: 'remove', head: urlHead('KEY') },
};
