import { get, textOf, type GetOptions } from './get.js';
import { linksOf, resolve } from './links.js';

/** What goes on of a page. */
export interface Page {
  readonly status: number;
  readonly links: readonly string[];
  /** Its one link is where it redirects to. */
  readonly isRedirect: boolean;
  /** It was longer than what was read of it. */
  readonly cut: boolean;
}

/** The site cannot answer now: it is to be asked again, at the soonest after so many seconds. */
export class SiteBusyError extends Error {
  constructor(
    status: number,
    readonly retryAfterSeconds: number,
  ) {
    super(`HTTP ${status}`);
  }
}

const MOST_RETRY_AFTER_SECONDS = 3_600;

/** Fetches a page. One that is gone, or that is no HTML, is a page without links. Throws SiteBusyError. */
export function fetchPage(
  url: URL,
  options: Omit<GetOptions, 'redirect'> & { readonly maxBytes: number },
): Promise<Page> {
  return get(url, { ...options, redirect: 'manual' }, async (response) => {
    const { status, headers } = response;
    if (status === 408 || status === 429 || status >= 500)
      throw new SiteBusyError(status, secondsOf(headers.get('retry-after')));
    // What a redirect leads to is a URL like others: it has a host and rules of its own, and may have been fetched.
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

/** 0 if the header has no number. */
function secondsOf(retryAfter: string | null): number {
  return /^\d{1,9}$/.test(retryAfter ?? '') ? Math.min(MOST_RETRY_AFTER_SECONDS, Number(retryAfter)) : 0;
}
