import { Parser } from 'htmlparser2';

/** Where a page leads to: http and https URLs, each once, without fragments. None if the page asks robots not to follow. */
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

/** Undefined for what is no http or https URL. */
export function resolve(href: string, from: URL): URL | undefined {
  if (!URL.canParse(href, from)) return undefined;
  const url = new URL(href, from);
  url.hash = '';
  return /^https?:$/.test(url.protocol) ? url : undefined;
}
