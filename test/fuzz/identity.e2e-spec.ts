import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { call, freshName, startApp, type TestApp } from '../support/app.js';
import { SEED } from '../support/random.js';
import { item } from './hostile.js';

const RUNS = 20;
const MAX_ITEM_BYTES = 8_192;

let app: TestApp;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.close());

/** Creates a filter whose error rate is so low that no test meets a false positive. */
async function makeFilter(): Promise<string> {
  const name = freshName();
  await call(app, 'POST', '/v1/filters', { name, type: 'counting', capacity: 10_000, errorRate: 1e-9 });
  return `/v1/filters/${name}/items`;
}

type Send = (path: string, items: readonly string[]) => Promise<boolean[]>;

const sendJson: Send = async (path, items) => {
  const { status, body } = await call(app, 'POST', path, { items });
  expect(status).toBe(200);
  return (body as { results: boolean[] }).results;
};

async function sendLines(path: string, type: string, text: string): Promise<boolean[]> {
  const init = { method: 'POST', headers: { 'content-type': type }, body: text };
  const lines = (await (await fetch(app.url + path, init)).text()).trimEnd().split('\n');
  const parsed = lines.map((line) => JSON.parse(line) as { results?: boolean[]; done?: true });
  expect(parsed.at(-1)).toMatchObject({ done: true });
  return parsed.flatMap(({ results = [] }) => results);
}

const sendNdjson: Send = (path, items) =>
  sendLines(path, 'application/x-ndjson', items.map((one) => `${JSON.stringify(one)}\n`).join(''));
/** The first line is blank, so U+FEFF in an item isn't read as the text's byte order mark. */
const sendText: Send = (path, items) => sendLines(path, 'text/plain', ['', ...items].join('\n'));

/** Strings that are easily mistaken for the given one. */
function lookAlikes(text: string): string[] {
  return [
    ...(['NFC', 'NFD', 'NFKC', 'NFKD'] as const).map((form) => text.normalize(form)),
    ...[text.toLowerCase(), text.toUpperCase(), text.trim(), encodeURI(text), encodeURIComponent(text)],
    ...['\ufeff', '\u0000', ' ', '\u200b', '\u00ad'].flatMap((more) => [more + text, text + more]),
    ...[
      text.slice(1),
      text.slice(0, -1),
      `${text}${text}`,
      text.replace('a', 'а'),
      text.replaceAll('\u0000', ''),
    ],
    ...[
      text.split('\u0000')[0] ?? '',
      text.replace(/[\u{10000}-\u{10ffff}]/gu, '\ufffd'),
      JSON.stringify(text),
    ],
  ].map((one) => one.toWellFormed());
}

const fits = (text: string): boolean => text !== '' && Buffer.byteLength(text) <= MAX_ITEM_BYTES;

describe(`an accepted string is found under the identical string only (SEED=${SEED})`, () => {
  const sets = fc.uniqueArray(item.filter(fits), { minLength: 1, maxLength: 30 });
  const noBreaks = sets.map((items) => items.filter((one) => !/[\r\n]/.test(one)));

  it.each([
    ['as JSON', sendJson, sets],
    ['as NDJSON', sendNdjson, sets],
    ['as text', sendText, noBreaks],
  ] as const)('%s', async (_, send, arbitrary) => {
    const holds = async (items: readonly string[]): Promise<void> => {
      const filter = await makeFilter();
      const others = [...new Set(items.flatMap(lookAlikes))].filter(
        (one) => fits(one) && !items.includes(one),
      );
      // Uses several routes, because all of them must mean the same items.
      expect(await send(`${filter}/add`, items)).toEqual(items.map(() => true));
      expect(await sendJson(`${filter}/check`, items)).toEqual(items.map(() => true));
      expect(await sendNdjson(`${filter}/check`, others)).toEqual(others.map(() => false));
      expect(await send(`${filter}/add`, items)).toEqual(items.map(() => false));
    };
    await fc.assert(fc.asyncProperty(arbitrary, holds), { seed: SEED, numRuns: RUNS });
  });

  it('whole families of look-alikes are different items', async () => {
    const families = [
      ['é', 'e\u0301', 'è', 'e'],
      ['Å', 'A\u030a', '\u212b'],
      ['ﬀ', 'ff'],
      ['a', 'а', 'ａ', 'ɑ', '𝐚', 'A'],
      ['\u0000', '\u0000\u0000', 'a\u0000', 'a\u0000b'],
      ['\ufeffx', 'x', 'x\ufeff', '\ufffex', '\ufffdx'],
      ['😀', '\u{1f601}', '😀\ufe0f', '\ufffd', '\ufffd\ufffd'],
      ['한', '\u1112\u1161\u11ab'],
      ['ß', 'ss', 'ẞ'],
      ['x', ' x', 'x ', '\u00a0x', '\tx', 'x\u2028', '\u202ex'],
    ];
    const items = [...new Set(families.flat())];
    const filter = await makeFilter();
    expect(await sendJson(`${filter}/add`, items)).toEqual(items.map(() => true));
    expect(await sendText(`${filter}/check`, items)).toEqual(items.map(() => true));
  });

  it('U+FEFF is a byte order mark only at the start of a text', async () => {
    const filter = await makeFilter();
    expect(await sendLines(`${filter}/add`, 'text/plain', '\ufefffirst\n\ufeffsecond\n')).toEqual([
      true,
      true,
    ]);
    const items = ['first', '\ufefffirst', 'second', '\ufeffsecond'];
    expect(await sendJson(`${filter}/check`, items)).toEqual([true, false, false, true]);
  });

  it('an escape and its character are the same item', async () => {
    const filter = await makeFilter();
    await call(app, 'POST', `${filter}/add`, '{"items":["\\u00e9\\ud83d\\ude00\\u002F"]}');
    expect(await sendJson(`${filter}/check`, ['é😀/'])).toEqual([true]);
  });
});
