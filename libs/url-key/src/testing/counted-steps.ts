import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import vm from 'node:vm';
import ts from 'typescript';
import { countBuiltIns, countPackage, type Counter } from './counted-built-ins.js';

/** A module that counts its work. */
export interface CountedModule<M> {
  readonly exports: M;
  /** The number of steps that `work` takes. It is deterministic. */
  steps(work: () => unknown): number;
}

/**
 * Loads a TypeScript module and its relative imports into a separate realm that counts steps. A step is a function
 * call, a loop iteration, an element copied by `[...values]`, or a character or element that a built-in function reads
 * or creates. `packages` has all other imports by name. Calls to them count only the characters of their texts.
 */
export function loadCounted<M>(
  entry: string,
  packages: Readonly<Record<string, object>> = {},
): CountedModule<M> {
  const counter: Counter = { steps: 0 };
  const context = vm.createContext(vm.constants.DONT_CONTEXTIFY);
  countBuiltIns(context as typeof globalThis, counter);
  const spread = (values: Iterable<unknown>): unknown[] => {
    const copied = [...values];
    counter.steps += copied.length;
    return copied;
  };

  const loaded = new Map(
    Object.entries(packages).map(([name, exports]) => [name, countPackage(exports, counter)]),
  );
  const load = (file: string): object => {
    const known = loaded.get(file);
    if (known !== undefined) return known;
    const exports = {};
    loaded.set(file, exports);
    const run = vm.compileFunction(
      toCommonJs(withSteps(readFileSync(file, 'utf8'))),
      ['exports', 'require', '$counter', '$spread'],
      { parsingContext: context, filename: file },
    ) as (...parameters: unknown[]) => void;
    run(exports, (name: string) => load(resolved(name, file)), counter, spread);
    return exports;
  };

  return {
    exports: load(entry) as M,
    steps(work) {
      counter.steps = 0;
      work();
      return counter.steps;
    },
  };
}

/** The source path of a relative import, or the package name unchanged. */
function resolved(name: string, importer: string): string {
  return name.startsWith('.') ? join(dirname(importer), name.replace(/\.js$/, '.ts')) : name;
}

function toCommonJs(source: string): string {
  const compilerOptions = { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2023 };
  return ts.transpileModule(source, { compilerOptions }).outputText;
}

interface Insertion {
  readonly at: number;
  readonly text: string;
}

/** Adds a step to the start of each function and each loop iteration, and counts spreads. */
function withSteps(source: string): string {
  const file = ts.createSourceFile('', source, ts.ScriptTarget.ES2023);
  const insertions: Insertion[] = [];
  const wrap = ({ node, before, after }: { node: ts.Node; before: string; after: string }): void => {
    insertions.push({ at: node.getStart(file), text: before }, { at: node.end, text: after });
  };
  const visit = (node: ts.Node): void => {
    const body = bodyOf(node);
    if (body === undefined) {
      if (ts.isSpreadElement(node)) wrap({ node: node.expression, before: '$spread(', after: ')' });
    } else if (ts.isBlock(body)) {
      insertions.push({ at: body.getStart(file) + 1, text: ' $counter.steps++;' });
    } else if (ts.isArrowFunction(node)) {
      wrap({ node: body, before: '($counter.steps++, ', after: ')' });
    } else {
      wrap({ node: body, before: '{ $counter.steps++; ', after: ' }' });
    }
    ts.forEachChild(node, visit);
  };
  visit(file);

  let result = '';
  let copied = 0;
  // The sort is stable: of two insertions at one place, the outer node's comes first.
  for (const { at, text } of insertions.sort((a, b) => a.at - b.at)) {
    result += source.slice(copied, at) + text;
    copied = at;
  }
  return result + source.slice(copied);
}

function bodyOf(node: ts.Node): ts.Node | undefined {
  if (ts.isIterationStatement(node, false)) return node.statement;
  return ts.isFunctionLike(node) && 'body' in node ? node.body : undefined;
}
