/** The number of steps so far. */
export interface Counter {
  steps: number;
}

/** A finished function call. `result` is undefined if it threw. */
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
 * Makes a realm's built-in functions count the characters and elements that they read and create. A function without a
 * specific cost counts as reading its whole object and all arguments, so the count is never too low.
 */
export function countBuiltIns(realm: typeof globalThis, counter: Counter): void {
  const { Array, Map, Number, Object, RegExp, Set, String } = realm;
  for (const { prototype } of [String, Array, Map, Set]) countAll(prototype, counter);
  for (const owner of [Array, Number, Object, String, realm.JSON]) countAll(owner, counter);
  for (const name of GLOBAL) count(realm, name, all, counter);
  // test, match, replace, search and split all call exec.
  count(RegExp.prototype, 'exec', matched, counter);
}

/** Wraps a package's functions so that they count the characters of their arguments and results. */
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
/** For functions that compare the first argument at one place or look it up in a table. */
const first: Cost = ({ args: [wanted] }) => size(wanted);
const made: Cost = ({ result }) => size(result);

/** A search of a text reads from its start to the hit. A search of an array counts as reading all of it. */
const scanned: Cost = ({ self, args }) => {
  const [wanted, from = 0] = args as [string, number?];
  const at = typeof self === 'string' ? self.indexOf(wanted, from) : -1;
  return (at === -1 ? size(self) : at + wanted.length) - from;
};

const scannedBack: Cost = ({ self, args: [, from = size(self)], result }) =>
  (from as number) - (result as number);

/** A match reads up to its end, or the whole text if it fails. A sticky expression looks at only one place. */
const matched: Cost = ({ self, args: [text], result, lastIndex }) => {
  const { global, sticky } = self as RegExp;
  const from = global || sticky ? lastIndex : 0;
  if (result === null || result === undefined) return sticky ? 0 : size(text) - from;
  const { index, 0: match } = result as RegExpExecArray;
  return index + match.length - from;
};

/** Each of about n log n comparisons reads one text. */
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
