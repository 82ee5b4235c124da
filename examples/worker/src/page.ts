import { parseRetryAfter } from 'unseen-client';
import { get, textOf, type GetOptions } from './get.js';
import { linksOf, resolve } from './links.js';

/** The parts of a page that the crawler uses. */
export interface Page {
  readonly status: number;
  readonly links: readonly string[];
  /** Its only link is the redirect's target. */
  readonly isRedirect: boolean;
  /** The page was longer than `maxBytes`. */
  readonly cut: boolean;
}

/** The site can't answer now. Retry after this many seconds at the earliest. */
export class SiteBusyError extends Error {
  constructor(
    status: number,
    readonly retryAfterSeconds: number,
  ) {
    super(`HTTP ${status}`);
  }
}

const MOST_RETRY_AFTER_SECONDS = 3_600;

/** Fetches a page. A page that is gone or isn't HTML has no links. Throws SiteBusyError. */
export function fetchPage(
  url: URL,
  options: Omit<GetOptions, 'redirect'> & { readonly maxBytes: number },
): Promise<Page> {
  return get(url, { ...options, redirect: 'manual' }, async (response) => {
    const { status, headers } = response;
    if (status === 408 || status === 429 || status >= 500)
      throw new SiteBusyError(status, secondsOf(headers.get('retry-after')));
    // A redirect's target is a separate URL, because it has its own host and rules, and may have been fetched already.
    const location = status >= 300 && status < 400 ? headers.get('location') : null;
    if (location !== null) {
      const to = resolve(location, url);
      return { status, links: to === undefined ? [] : [to.href], isRedirect: true, cut: false };
    }
    const isHtml = /^\s*(text\/html|application\/xhtml\+xml)\b/i.test(headers.get('content-type') ?? '');
    if (!response.ok || !isHtml) return { status, links: [], isRedirect: false, cut: false };
    const { text, cut } = await textOf(response, options.maxBytes);
    return { status, links: linksOf(text, url), isRedirect: false, cut };
  });
}

/** 0 without a header that can be read. */
function secondsOf(header: string | null): number {
  return Math.min(MOST_RETRY_AFTER_SECONDS, parseRetryAfter(header) ?? 0);
}
