import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { BUILT_FROM, digestOfSources } from '../../scripts/dashboard-sources.mjs';
import { findChromium } from '../../scripts/find-chromium.mjs';
import { patienceMs } from '../support/patience.js';
import { rememberSixHours } from './six-hours.js';

const { chromium } = (await importNatively('playwright-core')) as typeof import('playwright-core');
const found = findChromium();

/** Added to the names of skipped tests. */
export const why = found ? '' : ' (skipped: no Chromium; npm run tools:ensure installs it)';
export const describeInBrowser = found ? describe : describe.skip;

const FLAGS = [
  ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
  // Chromium keeps a spare renderer for the next tab unless it has reached this limit. Every context would start one.
  '--renderer-process-limit=1',
];

/** One browser for all of a file's tests, because starting it takes most of a test's time. */
export function sharedBrowser(): Pick<Browser, 'newContext'> {
  let started: Browser | undefined;
  beforeAll(async () => {
    await assertBuilt();
    if (found)
      started = await chromium.launch({ executablePath: found.path, args: FLAGS, timeout: patienceMs() });
  });
  afterAll(() => started?.close());
  return {
    newContext(options) {
      if (!started) throw new Error('there is no Chromium');
      return started.newContext(options);
    },
  };
}

/** Throws if a source has changed since the build: the service would serve an old page. */
async function assertBuilt(): Promise<void> {
  const builtFrom = await readFile(BUILT_FROM, 'utf8').catch(() => undefined);
  if (builtFrom !== digestOfSources())
    throw new Error('dist/dashboard is not of these sources: npm run build');
}

/** Failures that a test expects the browser to log. They are a status or an unavailable service. */
export type Expected = number | 'away';

function isSaidOf(expected: Expected, complaint: string): boolean {
  const why = expected === 'away' ? 'net::ERR_' : `the server responded with a status of ${expected} `;
  return complaint.startsWith(`error: Failed to load resource: ${why}`);
}

/** A tab with its own session, and the errors that its page reported. */
export interface Visit {
  readonly page: Page;
  /** New console messages, errors, policy violations, and requests to other origins. */
  complaints(): string[];
  /** Closes the tab, and expects no complaints except these. */
  leave(...expected: readonly Expected[]): Promise<void>;
  /** Accessibility violations that axe finds on the current page. */
  inaccessible(): Promise<string[]>;
  /** The number of pixels by which the page is wider than its viewport. */
  overflow(): Promise<number>;
  /** Goes to a place in the dashboard, as a link would. */
  goTo(hash: string): Promise<void>;
  close(): Promise<void>;
}

// Code for the page is a string, because tests don't have browser types.
const WATCH_POLICY = `addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
  console.error('policy: ' + violatedDirective + ' ' + blockedURI))`;
const OVERFLOW = 'Math.max(0, document.documentElement.scrollWidth - document.documentElement.clientWidth)';

/** Opens a service's dashboard at a place such as `#/new`. */
export async function visit(
  browser: Pick<Browser, 'newContext'>,
  url: string,
  hash = '#/',
  options: BrowserContextOptions = {},
): Promise<Visit> {
  const context = await browser.newContext({ viewport: { width: 1_400, height: 900 }, ...options });
  context.setDefaultTimeout(patienceMs());
  await rememberSixHours(context);
  const page = await context.newPage();
  let complaints: string[] = [];
  page.on('console', (message) => complaints.push(`${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => complaints.push(`error: ${error.message}`));
  page.on('request', (request) => {
    if (!request.url().startsWith(`${url}/`)) complaints.push(`request: ${request.url()}`);
  });
  await page.addInitScript(WATCH_POLICY);
  await page.goto(`${url}/dashboard${hash}`);
  const sinceLast = (): string[] => {
    const since = complaints;
    complaints = [];
    return since;
  };
  return {
    page,
    complaints: sinceLast,
    async leave(...expected) {
      expect(sinceLast().filter((text) => !expected.some((one) => isSaidOf(one, text)))).toEqual([]);
      await context.close();
    },
    inaccessible: () => inaccessible(page),
    overflow: () => page.evaluate<number>(OVERFLOW),
    goTo: (to) => page.evaluate(`void (location.hash = ${JSON.stringify(to)})`),
    close: () => context.close(),
  };
}

/** Enters a key, valid or not. */
export async function signIn(page: Page, key: string): Promise<void> {
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

/** Enters an input list as a file. Filling in thousands of lines of text takes an automated browser half a minute. */
export async function chooseList(page: Page, lines: readonly string[]): Promise<void> {
  const file = { name: 'list.txt', mimeType: 'text/plain', buffer: Buffer.from(lines.join('\n')) };
  await page.getByLabel('Or drop files here').setInputFiles([file]);
}

/** Downloads the result file and returns its lines. */
export async function resultOf(page: Page): Promise<string[]> {
  const downloading = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download the result' }).click();
  const text = await readFile(await (await downloading).path(), 'utf8');
  return text.split('\n').slice(0, -1);
}

/** One of the page's calls, paused. */
export interface Held {
  readonly held: Promise<void>;
  readonly letGo: () => void;
}

/** Lets `before` calls to a path pass, and holds later ones until `letGo`. Calls with other methods pass. */
export async function holdAfter(page: Page, path: string, before: number, method = 'POST'): Promise<Held> {
  let reached: () => void;
  let letGo: () => void;
  const held = new Promise<void>((resolve) => (reached = resolve));
  const released = new Promise<void>((resolve) => (letGo = resolve));
  let calls = 0;
  await page.route(`**${path}`, async (route) => {
    if (route.request().method() === method && calls++ >= before) {
      reached();
      await released;
    }
    await route.continue();
  });
  return { held, letGo: () => letGo() };
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

/** Evaluated and not loaded, because the page's policy forbids other scripts. */
async function inaccessible(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  const violations = await page.evaluate<Violation[]>('axe.run().then(({ violations }) => violations)');
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary = '' }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`),
  );
}
