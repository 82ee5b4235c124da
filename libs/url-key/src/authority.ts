import type { NormalisedUrlProfile } from './profile.js';

/**
 * The rules on scheme, userinfo and host as one function on the canonical text before the path (`https://www.a.b:81`),
 * or undefined if there are none.
 */
export function compileAuthority(profile: NormalisedUrlProfile): ((authority: string) => string) | undefined {
  const { ignoreScheme, stripUserinfo, stripWww } = profile;
  if (!ignoreScheme && !stripUserinfo && !stripWww) return undefined;
  return (authority) => {
    const hostAt = authority.indexOf('//') + 2;
    const userAt = authority.indexOf('@');
    let scheme = authority.slice(0, hostAt);
    let userinfo = userAt === -1 ? '' : authority.slice(hostAt, userAt + 1);
    let host = authority.slice(hostAt + userinfo.length);
    if (ignoreScheme) scheme = commonScheme(scheme, host);
    if (stripUserinfo) userinfo = '';
    if (stripWww) host = withoutWww(host);
    return scheme + userinfo + host;
  };
}

/**
 * https stands for both. Only `http://a:443` keeps its scheme, as does `https://a:80`: with the other scheme the port
 * would be a default one and vanish, and the key would not be its own key.
 */
function commonScheme(scheme: string, host: string): string {
  return scheme === 'http://' && !/:443$/.test(host) ? 'https://' : scheme;
}

/**
 * `www.` goes if a name of two labels or more is left (`www.com` stays), and if that name does not lose a `www.` again:
 * of `www.www.a.b` nothing is removed, since the rule takes one `www.` and its result has to be its own key.
 */
function withoutWww(host: string): string {
  if (!isWwwOfName(host)) return host;
  const rest = host.slice('www.'.length);
  return isWwwOfName(rest) ? host : rest;
}

function isWwwOfName(host: string): boolean {
  return /^www(?:\.[^.:]+){2,}(?::\d+)?$/.test(host);
}
