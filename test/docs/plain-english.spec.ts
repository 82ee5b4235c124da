import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import {
  apiTexts,
  helpTexts,
  pageTexts,
  sourceTexts,
  textsIn,
  type UserText,
} from '../support/user-texts.js';

/** All Markdown pages. */
const PAGES = ['docs', 'examples', 'libs', '.'].flatMap((folder) =>
  readdirSync(folder, { recursive: folder !== '.', encoding: 'utf8' })
    .filter((file) => file.endsWith('.md') && !file.includes('node_modules'))
    .map((file) => join(folder, file)),
);

/**
 * Phrases that texts for users must avoid, because a plain one names the thing: "URLs" and not "what was not seen",
 * "the caller" and not "who is let in", "if" and not "Of a set that ages", "per item" and not "an item", "The key was
 * not created" and not "That did not work".
 */
const PHRASES: readonly RegExp[] = [
  /\bwhat was\b/i,
  /\bwho is\b/i,
  /\bwhoever\b/i,
  /\bnobody\b/i,
  /(?<!\bso )\bas to\b/i,
  // At the start of a sentence.
  /(?:^|[.!?:] )of an? [^.!?]*\bthat\b/i,
  /\b(?:CPU|bytes|bits|cells|counters) an item\b/i,
  /: allowed is\b/i,
  /\bmade anew\b/i,
  /\bnot answer for\b/i,
  /\b(?:highest|largest) share of\b/i,
  /\bhowever (?:fast|large|long|many|much|often|slow|small)\b/i,
  /\bthat did not work\b/i,
  // A complete text that doesn't name the thing.
  /^it (?:was not|could not be) \w+$/i,
];

const unclear = ({ text }: UserText): boolean => PHRASES.some((phrase) => phrase.test(text));

describe('plain English', () => {
  it.each([
    ['the strings of the sources', sourceTexts],
    ['docs/openapi.json', apiTexts],
    ['the help of the commands', helpTexts],
    ['the pages', () => PAGES.flatMap((page) => pageTexts(page))],
  ])('is in %s', (_, collect) => {
    const texts = collect();
    expect(texts.length).toBeGreaterThan(20);
    expect(texts.filter(unclear)).toEqual([]);
  });

  it.each([
    'it keeps what was not seen',
    'asks who is let in',
    'give it to whoever uses it',
    'Nobody knows yet',
    'As to the limit, it is 10',
    'Forgets it. Of a set that ages the rest stays',
    '5 bytes an item',
    '--seconds is 0: allowed is a whole number',
    'the set is made anew',
    'the service does not answer for it',
    'highest share of false positives',
    'each member counts once, however often it is sent',
    'That did not work',
    'It was not created',
    'of an item that is new',
  ])('refuses: %s', (text) => {
    expect(unclear({ file: '', text })).toBe(true);
  });

  it.each([
    'what is in the set?',
    'so as to be sure',
    'the layers of a filter that grows',
    'as told to the caller',
    'Of a million URLs, 100 are wrong. That is 0.01 %',
    'it was not found: check the name',
  ])('accepts: %s', (text) => {
    expect(unclear({ file: '', text })).toBe(false);
  });

  it('reads strings, templates, concatenations and tags, and no comments, imports or single words', () => {
    const source = `import 'a b'; // nobody reads this
      const name = 'nobody';
      throw new Error(\`the set \${name} has \${'no room'}\`);
      const text = 'is it ' + 'done, ' + name + '?';
      const tag = <p title="a title">What is\n  shown {text} here</p>;`;
    expect(textsIn(source, 'a.tsx').map(({ text }) => text)).toEqual([
      'the set … has …',
      'no room',
      'is it done, …?',
      'a title',
      'What is shown',
    ]);
  });
});
