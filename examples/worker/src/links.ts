import { Parser } from 'htmlparser2';

/** The http and https URLs that a page links to, without duplicates and fragments. None if the page has `nofollow`. */
export function linksOf(html: string, page: URL): string[] {
  const hrefs = new Set<string>();
  let base: string | undefined;
  let follow = true;
  const parser = new Parser({
    onopentag(name, { href, name: meta, content = '' }) {
      if (name === 'base') base ??= href;
      else if ((name === 'a' || name === 'area') && href !== undefined) hrefs.add(href);
      else if (name === 'meta' && meta?.toLowerCase() === 'robots')
        follow &&= !/\b(nofollow|none)\b/i.test(content);
    },
  });
  parser.end(html);
  if (!follow) return [];
  const from = resolve(base ?? '', page) ?? page;
  const links = [...hrefs].map((href) => resolve(href, from)?.href);
  return [...new Set(links.filter((link) => link !== undefined))];
}

/** Undefined if it isn't an http or https URL. */
export function resolve(href: string, from: URL): URL | undefined {
  if (!URL.canParse(href, from)) return undefined;
  const url = new URL(href, from);
  url.hash = '';
  return /^https?:$/.test(url.protocol) ? url : undefined;
}
