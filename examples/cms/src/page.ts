import { Parser } from 'htmlparser2';
import { normalUrl } from './articles.js';

/** The parts of a page that the CMS uses. */
export interface Page {
  readonly status: number;
  /** A redirect's target. */
  readonly location?: string;
  /** Undefined unless it is HTML with a title. */
  readonly article?: { readonly title: string; readonly body: string };
  /** Its links' URLs, without duplicates. */
  readonly links: readonly string[];
}

const USER_AGENT = 'unseen-cms/0.1';
const TIMEOUT_MS = 30_000;
/** The rest of a longer page is ignored. */
const MOST_BYTES = 2_000_000;
/** How deep open elements may be at most, because the parser searches all open elements for each closing tag. */
const MOST_DEPTH = 1_000;
const UNREAD = new Set([
  'title',
  'script',
  'style',
  'template',
  'noscript',
  'head',
  'nav',
  'header',
  'footer',
  'aside',
]);

/**
 * Fetches a page. Doesn't follow redirects, because their targets are separate URLs. Throws if the site is unavailable.
 */
export async function fetchPage(url: string, signal: AbortSignal): Promise<Page> {
  const ending = new AbortController();
  const either = AbortSignal.any([signal, ending.signal, AbortSignal.timeout(TIMEOUT_MS)]);
  try {
    const headers = { 'user-agent': USER_AGENT, accept: 'text/html,application/xhtml+xml' };
    const response = await fetch(url, { headers, redirect: 'manual', signal: either });
    const { status } = response;
    if (status === 408 || status === 429 || status >= 500) throw new Error(`HTTP ${status}`);
    const location = response.headers.get('location');
    if (status >= 300 && status < 400 && location !== null) {
      const to = URL.canParse(location, url) ? normalUrl(new URL(location, url).href) : undefined;
      return { status, links: [], ...(to !== undefined && { location: to }) };
    }
    const isHtml = /^\s*(text\/html|application\/xhtml\+xml)\b/i.test(
      response.headers.get('content-type') ?? '',
    );
    return { status, links: [], ...(response.ok && isHtml && (await read(response, url))) };
  } finally {
    // Cancels downloading the part that wasn't read.
    ending.abort();
  }
}

async function read({ body, headers }: Response, url: string): Promise<Pick<Page, 'article' | 'links'>> {
  const found = { title: '', heading: '', body: '', links: new Set<string>() };
  /** Numbers of open elements. */
  const open = { all: 0, unread: 0, title: 0, h1: 0 };
  const count = (name: string, by: 1 | -1): void => {
    open.all += by;
    if (UNREAD.has(name)) open.unread += by;
    if (name === 'title' || name === 'h1') open[name] += by;
  };
  let base = url;
  const parser = new Parser({
    onopentag(name, { href }) {
      count(name, 1);
      if (href === undefined || !URL.canParse(href, base)) return;
      if (name === 'base') base = new URL(href, base).href;
      const link = name === 'a' ? normalUrl(new URL(href, base).href) : undefined;
      if (link !== undefined) found.links.add(link);
    },
    ontext(text) {
      if (open.title > 0) found.title += text;
      if (open.h1 > 0) found.heading += text;
      if (open.unread === 0) found.body += text;
    },
    onclosetag(name) {
      count(name, -1);
      if (name === 'p' || name === 'h1' || name === 'h2' || name === 'li') found.body += '\n';
    },
  });
  const decoder = decoderOf(headers.get('content-type') ?? '');
  let left = MOST_BYTES;
  for await (const chunk of body ?? []) {
    const bytes = chunk as Uint8Array;
    parser.write(decoder.decode(bytes.subarray(0, left), { stream: true }));
    left -= bytes.length;
    if (left <= 0 || open.all > MOST_DEPTH) break;
  }
  parser.end();
  const title = tidy(found.heading) || tidy(found.title);
  const links = [...found.links];
  return title === '' ? { links } : { links, article: { title, body: tidy(found.body) } };
}

function tidy(text: string): string {
  return text
    .replace(/[^\S\n]+/g, ' ')
    .replace(/ ?\n\s*/g, '\n')
    .trim();
}

function decoderOf(contentType: string): TextDecoder {
  const [, charset = 'utf-8'] = /;\s*charset="?([^";\s]+)/i.exec(contentType) ?? [];
  try {
    return new TextDecoder(charset);
  } catch {
    return new TextDecoder();
  }
}
