import type { CheerioCrawlingContext, CheerioHook } from '@crawlee/cheerio';
import { keyByUrl } from './identity.js';
import type { UnseenRequestManager } from './unseen-request-manager.js';

const MOST_REDIRECTS = 10;

/**
 * For `preNavigationHooks`: redirects are not followed but handed to the handler, see addRedirect. One to the page itself, which
 * sets a cookie mostly, is followed.
 */
export const leaveRedirects: CheerioHook = async ({ request }, options) => {
  options.followRedirect = ({ headers, url }) => {
    if (headers.location === undefined || keyByUrl(resolve(headers.location, url)) === keyByUrl(request.url))
      return true;
    // Crawlee refuses answers that are no HTML, and that of a redirect need not say what it is.
    headers['content-type'] = 'text/html';
    return false;
  };
};

/**
 * Adds the URL that an answer redirects to, so that it is fetched once, whatever redirects and links lead to it. Leaves the host of
 * a start page only. False if the answer is no redirect.
 */
export async function addRedirect(
  manager: UnseenRequestManager,
  { request, response }: Pick<CheerioCrawlingContext, 'request' | 'response'>,
): Promise<boolean> {
  const { statusCode = 0, headers } = response;
  if (statusCode < 300 || statusCode >= 400 || headers.location === undefined) return false;
  const url = resolve(headers.location, request.url);
  const redirects = Number(request.userData.redirects ?? 0) + 1;
  if (!/^https?:/.test(url) || redirects > MOST_REDIRECTS) return true;
  const next = { url, userData: { redirects } };
  if (manager.isStart(request)) await manager.addStarts([next]);
  else if (new URL(url).hostname === new URL(request.url).hostname) await manager.addRequest(next);
  return true;
}

/** What is no URL leads back. */
function resolve(location: string, base: string): string {
  return URL.canParse(location, base) ? new URL(location, base).href : base;
}
