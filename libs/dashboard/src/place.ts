/** Where in the dashboard somebody is: what stands after the # of the address. */
export interface Place {
  /** Its parts, decoded: `['sets', 'crawl']`. */
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

/** A hash that somebody has typed may be anything. */
export function placeOf(hash: string): Place {
  const [, path = '', query = ''] = /^#?([^?]*)\??(.*)$/s.exec(hash) ?? [];
  return { path: path.split('/').filter(Boolean).map(decoded), query: new URLSearchParams(query) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A link to a place. Of the query, what is empty is left out. */
export function hashOf(path: readonly string[], query: Readonly<Record<string, string>> = {}): string {
  const pairs = Object.entries(query).filter(([, value]) => value !== '');
  const text = new URLSearchParams(pairs).toString();
  return `#/${path.map(encodeURIComponent).join('/')}${text === '' ? '' : `?${text}`}`;
}
