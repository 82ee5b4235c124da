/** A place in the dashboard: the part of the address after the #. */
export interface Place {
  /** The decoded parts of the path, such as `['sets', 'crawl']`. */
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

/** Parses a hash. The user may have typed it, so it can be malformed. */
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

/** A link to a place. Drops empty query values. */
export function hashOf(path: readonly string[], query: Readonly<Record<string, string>> = {}): string {
  const pairs = Object.entries(query).filter(([, value]) => value !== '');
  const text = new URLSearchParams(pairs).toString();
  return `#/${path.map(encodeURIComponent).join('/')}${text === '' ? '' : `?${text}`}`;
}
