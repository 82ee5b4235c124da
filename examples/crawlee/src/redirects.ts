import type { CheerioCrawlingContext, CheerioHook } from '@crawlee/cheerio';
import { keyByUrl } from './identity.js';
import type { UnseenRequestManager } from './unseen-request-manager.js';

const MOST_REDIRECTS = 10;

/**
 * For `preNavigationHooks`: passes redirects to the handler instead of following them, see addRedirect. Follows a
 * redirect to the page itself, which usually sets a cookie.
 */
export const leaveRedirects: CheerioHook = async ({ request }, options) => {
  options.followRedirect = ({ headers, url }) => {
    if (headers.location === undefined || keyByUrl(resolve(headers.location, url)) === keyByUrl(request.url))
      return true;
    // Crawlee rejects answers that aren't HTML, and a redirect may have no content type.
    headers['content-type'] = 'text/html';
    return false;
  };
};

/**
 * Adds a redirect's target as a request, so it is fetched once even if several redirects and links lead to it. Only a
 * start page may redirect to another host. Returns false if the answer isn't a redirect.
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

/** The base if the location isn't a URL. */
function resolve(location: string, base: string): string {
  return URL.canParse(location, base) ? new URL(location, base).href : base;
}
