import { Request, type RequestOptions } from '@crawlee/cheerio';

const PREFIX = 'unseen:';

/** The key that Crawlee computes for a URL. */
export function keyByUrl(url: string): string {
  return Request.computeUniqueKey({ url, method: 'GET' });
}

/** Whether a request has nothing but its URL. */
export function isByUrl({ url, method, uniqueKey }: Request): boolean {
  return method === 'GET' && uniqueKey === keyByUrl(url);
}

/** The key of a request whose URL was visited when it was added. `suffix` must be unique. */
export function visitedKey({ url }: Request, suffix: string): string {
  return `${PREFIX}${suffix}:${url}`;
}

/** Whether the URL of a request was visited when it was added. */
export function isVisited({ uniqueKey }: Request): boolean {
  return uniqueKey.startsWith(PREFIX);
}

/** A copy of a request with a different key. The original stays unchanged, because callers know it by its key. */
export function withKey(request: Request, uniqueKey: string): Request {
  // Copies through JSON, as the queue does: a spread would lose data that Crawlee hides in `userData`, such as the
  // depth of the crawl.
  const options: RequestOptions = JSON.parse(JSON.stringify(request));
  return new Request({ ...options, uniqueKey });
}

export function withoutFragment(url: string): string {
  const at = url.indexOf('#');
  return at < 0 ? url : url.slice(0, at);
}
