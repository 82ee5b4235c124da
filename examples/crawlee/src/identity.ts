import { Request, type RequestOptions } from '@crawlee/cheerio';

const PREFIX = 'unseen:';

/** What Crawlee makes of a URL alone. */
export function keyByUrl(url: string): string {
  return Request.computeUniqueKey({ url, method: 'GET' });
}

/** Whether a request is its URL and nothing else. */
export function isByUrl({ url, method, uniqueKey }: Request): boolean {
  return method === 'GET' && uniqueKey === keyByUrl(url);
}

/** The key of a request that was marked when it was added. `mark`: unlike any other. */
export function markedKey({ url }: Request, mark: string): string {
  return `${PREFIX}${mark}:${url}`;
}

/** Whether a request was marked when it was added. */
export function isMarked({ uniqueKey }: Request): boolean {
  return uniqueKey.startsWith(PREFIX);
}

/** A request under another key: a copy, since callers know their requests by their keys. */
export function withKey(request: Request, uniqueKey: string): Request {
  // By way of JSON, as the queue stores it: a spread loses what Crawlee hides in `userData`, such as the depth of the crawl.
  const options: RequestOptions = JSON.parse(JSON.stringify(request));
  return new Request({ ...options, uniqueKey });
}

export function withoutFragment(url: string): string {
  const at = url.indexOf('#');
  return at < 0 ? url : url.slice(0, at);
}
