import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { chromium } from 'playwright-core';
import { findChromium } from '../../scripts/find-chromium.mjs';
import { rememberSixHours } from './six-hours.js';

const found = findChromium();

/** Said in the names of tests that are skipped. */
export const why = found ? '' : ' (skipped: no Chromium; npm run tools:ensure installs it)';
export const hasBrowser = found !== undefined;

const FLAGS = [
  ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
];
/** Of a machine that has a tenth of its time to give. */
const PATIENCE_MS = 30_000;

/** One for all tests of a file: starting it is most of what a test takes. */
export async function startBrowser(): Promise<Browser> {
  if (!found) throw new Error('there is no Chromium');
  return chromium.launch({ executablePath: found.path, args: FLAGS, timeout: PATIENCE_MS });
}

/** A tab with a session of its own, and everything in it that should not have been. */
export interface Visit {
  readonly page: Page;
  /** Messages of the console, errors, breaches of the policy, requests to elsewhere, since it was last asked. */
  complaints(): string[];
  /** What axe finds wrong with the page as it is. */
  inaccessible(): Promise<string[]>;
  /** By how many pixels the page is wider than what shows it. */
  overflow(): Promise<number>;
  /** Goes to a place of the dashboard, as a link would. */
  goTo(hash: string): Promise<void>;
  close(): Promise<void>;
}

// What runs in the page is text: tests know no types of browsers.
const WATCH_POLICY = `addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
  console.error('policy: ' + violatedDirective + ' ' + blockedURI))`;
const OVERFLOW = 'Math.max(0, document.documentElement.scrollWidth - document.documentElement.clientWidth)';

/** Opens the dashboard of a service at a place such as `#/new`. */
export async function visit(
  browser: Browser,
  url: string,
  hash = '#/',
  options: BrowserContextOptions = {},
): Promise<Visit> {
  const context = await browser.newContext({ viewport: { width: 1_400, height: 900 }, ...options });
  context.setDefaultTimeout(PATIENCE_MS);
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
  return {
    page,
    complaints() {
      const since = complaints;
      complaints = [];
      return since;
    },
    inaccessible: () => inaccessible(page),
    overflow: () => page.evaluate<number>(OVERFLOW),
    goTo: (to) => page.evaluate(`void (location.hash = ${JSON.stringify(to)})`),
    close: () => context.close(),
  };
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

/** Evaluated, not loaded: the policy of the page would not have it. */
async function inaccessible(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  const violations = await page.evaluate<Violation[]>('axe.run().then(({ violations }) => violations)');
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary = '' }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`),
  );
}
