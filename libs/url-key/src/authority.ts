import type { NormalisedUrlProfile } from './profile.js';

/**
 * Compiles the rules for scheme, userinfo and host into one function on the part of a canonical URL before its path
 * (`https://www.a.b:81`). Undefined if the profile has no such rule.
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
 * Writes https for both schemes. `http://a:443` and `https://a:80` keep theirs: under the other scheme, the port would
 * be the default and disappear. The key of that key would then be different.
 */
function commonScheme(scheme: string, host: string): string {
  return scheme === 'http://' && !/:443$/.test(host) ? 'https://' : scheme;
}

/**
 * Removes `www.` from a host if at least two labels remain (`www.com` stays) and the remaining host would not lose
 * another `www.`. `www.www.a.b` stays, because the rule removes one `www.` and its result must be its own key.
 */
function withoutWww(host: string): string {
  if (!isWwwOfName(host)) return host;
  const rest = host.slice('www.'.length);
  return isWwwOfName(rest) ? host : rest;
}

function isWwwOfName(host: string): boolean {
  return /^www(?:\.[^.:]+){2,}(?::\d+)?$/.test(host);
}
