import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import ts from 'typescript';
import { Exit } from '../../src/cli/ending.js';
import { commandTree } from '../../src/cli/command-tree.js';
import { Interruption } from '../../src/cli/interruption.js';

/** A text that users read, as one line, and its file. */
export interface UserText {
  readonly file: string;
  readonly text: string;
}

/**
 * Folders whose strings reach users in answers, logs and terminals, and on the dashboard's and the examples' screens.
 */
const SOURCES = ['examples', 'libs', 'scripts', 'src'];
/** Paths whose strings users never see: packages, builds, tests and their helpers, scripts for Redis, rules of lint. */
const NOT_SHOWN =
  /\/(?:node_modules|dist)\/|\.spec\.|\.d\.|\/test(?:ing|data)\/|redis\/(?:items|scripts)\/|scripts\/lint\//;

/** Placeholder for a value in a template. */
const VALUE = '…';

/** All texts in the sources that users may meet: strings, templates, and the text between the dashboard's tags. */
export function sourceTexts(): UserText[] {
  const files = SOURCES.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  );
  return files
    .filter((file) => /\.(?:js|ts|tsx|mjs)$/.test(file) && !NOT_SHOWN.test(file))
    .flatMap((file) => textsIn(readFileSync(file, 'utf8'), file));
}

/** A source's texts that have more than one word. The extension of `file` selects the syntax. */
export function textsIn(source: string, file: string): UserText[] {
  const kind = file.endsWith('.tsx') ? ts.ScriptKind.TSX : ts.ScriptKind.TS;
  const texts: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return;
    const text = textOf(node);
    if (text !== undefined) texts.push(text);
    // The operands of a concatenation form one text, but the values in a template are separate texts.
    if (text !== undefined && ts.isBinaryExpression(node)) return;
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(file, source, ts.ScriptTarget.Latest, false, kind));
  return withFile(file, texts);
}

function textOf(node: ts.Node): string | undefined {
  if (ts.isStringLiteralLike(node) || ts.isJsxText(node)) return node.text;
  if (ts.isTemplateExpression(node))
    return node.head.text + node.templateSpans.map(({ literal }) => VALUE + literal.text).join('');
  if (!ts.isBinaryExpression(node) || node.operatorToken.kind !== ts.SyntaxKind.PlusToken) return undefined;
  const [left, right] = [textOf(node.left), textOf(node.right)];
  return left === undefined && right === undefined ? undefined : (left ?? VALUE) + (right ?? VALUE);
}

/** The summaries, descriptions and titles of docs/openapi.json. */
export function apiTexts(): UserText[] {
  const file = 'docs/openapi.json';
  const texts: string[] = [];
  JSON.parse(readFileSync(file, 'utf8'), (member, value: unknown) => {
    if (['summary', 'description', 'title'].includes(member) && typeof value === 'string') texts.push(value);
    return value;
  });
  return withFile(file, texts);
}

/** The help for each `unseen` command. */
export function helpTexts(): UserText[] {
  const outcome = { exit: Exit.Done, flush: async () => undefined, listen: () => undefined };
  const all = (command: Command): Command[] => [command, ...command.commands.flatMap((each) => all(each))];
  return all(commandTree(new Interruption(), outcome)).flatMap((command) =>
    withFile(`help of ${command.name()}`, [command.helpInformation()]),
  );
}

/** A page's paragraphs, list items, table rows and headings, without its code. */
export function pageTexts(page: string): UserText[] {
  const prose = readFileSync(page, 'utf8').replace(/^( *)```[^]*?^\1```$/gm, '');
  const blocks = prose.split(/\n(?=\s*(?:\n|#|\||[-*] |\d+\. ))/);
  return withFile(
    page,
    blocks.filter((block) => !isQuestion(block)),
  );
}

/** Whether a block is a heading that is a question, such as "Who is it for?" */
function isQuestion(block: string): boolean {
  return /^#+ [^\n]*\?$/.test(block.trim());
}

function withFile(file: string, texts: readonly string[]): UserText[] {
  const lines = texts.map((text) => text.replace(/\s+/g, ' ').trim());
  return lines.filter((text) => text.includes(' ')).map((text) => ({ file, text }));
}
