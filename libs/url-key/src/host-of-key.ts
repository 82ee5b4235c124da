/** A URL key's host, without userinfo and port. Hash scheme 3 hashes it. */
export function hostOfKey(key: string): string {
  const start = key.indexOf('/') + 2;
  const authority = key.slice(start, key.indexOf('/', start));
  // A key escapes `@` and `:` in user and password, and an IPv6 address has its colons in brackets.
  const host = authority.slice(authority.lastIndexOf('@') + 1);
  const port = host.lastIndexOf(':');
  return port > host.lastIndexOf(']') ? host.slice(0, port) : host;
}
