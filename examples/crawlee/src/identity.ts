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

/** Whether a request's URL was visited when it was added. */
export function isVisited({ uniqueKey }: Request): boolean {
  return uniqueKey.startsWith(PREFIX);
}

/** A request's copy with a different key. The original stays unchanged, because callers know it by its key. */
export function withKey(request: Request, uniqueKey: string): Request {
  // Copies through JSON, as the queue does, because a spread would lose data that Crawlee hides in `userData`, such as
  // the crawl depth.
  const options: RequestOptions = JSON.parse(JSON.stringify(request));
  return new Request({ ...options, uniqueKey });
}

export function withoutFragment(url: string): string {
  const at = url.indexOf('#');
  return at < 0 ? url : url.slice(0, at);
}
