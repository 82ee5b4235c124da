/** The steps so far. */
export interface Counter {
  steps: number;
}

/** A call of a function that has ended. The result of one that threw is undefined. */
interface Call {
  readonly self: unknown;
  readonly args: readonly unknown[];
  readonly result: unknown;
  /** The `lastIndex` of a regular expression when the call began. */
  readonly lastIndex: number;
}

type Cost = (call: Call) => number;

const GLOBAL = 'encodeURI encodeURIComponent decodeURI decodeURIComponent parseInt parseFloat'.split(' ');

/**
 * Makes the built-in functions of a realm count what they read and make. A function without a cost of its own is taken
 * to read all of its object and its arguments, so that the count is too high rather than too low.
 */
export function countBuiltIns(realm: typeof globalThis, counter: Counter): void {
  const { Array, Map, Number, Object, RegExp, Set, String } = realm;
  for (const { prototype } of [String, Array, Map, Set]) countAll(prototype, counter);
  for (const owner of [Array, Number, Object, String, realm.JSON]) countAll(owner, counter);
  for (const name of GLOBAL) count(realm, name, all, counter);
  // test, match, replace, search and split all call this one.
  count(RegExp.prototype, 'exec', matched, counter);
}

/** A package's functions, which count the characters of their arguments and results. */
export function countPackage(exports: object, counter: Counter): object {
  const counted = { ...exports };
  countAll(counted, counter);
  return counted;
}

function countAll(owner: object, counter: Counter): void {
  for (const name of Object.getOwnPropertyNames(owner)) {
    if (name !== 'constructor' && name !== 'prototype') count(owner, name, COSTS.get(name) ?? all, counter);
  }
}

function count(owner: object, name: string, cost: Cost, counter: Counter): void {
  const original: unknown = Object.getOwnPropertyDescriptor(owner, name)?.value;
  if (typeof original !== 'function') return;
  const counted = function (this: unknown, ...args: unknown[]): unknown {
    const lastIndex = cost === matched ? (this as RegExp).lastIndex : 0;
    let result: unknown;
    try {
      result = Reflect.apply(original, this, args);
      return result;
    } finally {
      counter.steps += 1 + Math.max(0, cost({ self: this, args, result, lastIndex }));
    }
  };
  Object.defineProperty(owner, name, { value: counted });
}

function size(value: unknown): number {
  return typeof value === 'string' || Array.isArray(value) ? value.length : 0;
}

function sum(values: readonly unknown[]): number {
  let total = 0;
  for (const value of values) total += size(value);
  return total;
}

const all: Cost = ({ self, args, result }) => size(self) + sum(args) + size(result);
const none: Cost = () => 0;
/** For what looks at as many characters as the first argument has, at one place or in a table. */
const first: Cost = ({ args: [wanted] }) => size(wanted);
const made: Cost = ({ result }) => size(result);

/** What a search of a text from the start reads until it finds. One of an array is taken to read all of it. */
const scanned: Cost = ({ self, args }) => {
  const [wanted, from = 0] = args as [string, number?];
  const at = typeof self === 'string' ? self.indexOf(wanted, from) : -1;
  return (at === -1 ? size(self) : at + wanted.length) - from;
};

const scannedBack: Cost = ({ self, args: [, from = size(self)], result }) =>
  (from as number) - (result as number);

/** What a match has read, or all of the text if there is none. A sticky expression looks at one place only. */
const matched: Cost = ({ self, args: [text], result, lastIndex }) => {
  const { global, sticky } = self as RegExp;
  const from = global || sticky ? lastIndex : 0;
  if (result === null || result === undefined) return sticky ? 0 : size(text) - from;
  const { index, 0: match } = result as RegExpExecArray;
  return index + match.length - from;
};

/** Each of about n log n comparisons reads a text. */
const sorted: Cost = ({ self }) => {
  const values = self as readonly unknown[];
  return (values.length + sum(values)) * Math.ceil(Math.log2(values.length + 1));
};

const COSTS: ReadonlyMap<string, Cost> = new Map(
  (
    [
      [none, 'at charAt charCodeAt codePointAt push pop'],
      [first, 'startsWith endsWith get has set add delete'],
      [made, 'slice substring substr'],
      [scanned, 'indexOf includes'],
      [scannedBack, 'lastIndexOf'],
      [sorted, 'sort'],
    ] as const
  ).flatMap(([cost, names]) => names.split(' ').map((name) => [name, cost] as const)),
);
