import { show } from '../../errors/show.js';

/** Stands for stdin. */
export const STDIN = '-';

/** A sitemap may name URLs that are never fetched. */
const ANY_URL = /^[a-z][a-z\d+.-]*:\/\//i;

/** A parameter of a URL, with what separates it from the part before. */
const PARAMETER = /[?&;#][^&;#]*/g;
/**
 * Names of parameters whose values give access: tokens, codes, and the signatures of signed URLs. A hash may be such a
 * signature, and a message can do without any other hash.
 */
const SECRET = /auth|code|cred|hash|hmac|jwt|key|pass|pwd|secret|session|sig|token/i;

/** Whether a source is named by a URL. */
export function isRemote(source: string): boolean {
  return /^https?:\/\//i.test(source);
}

/** A source as messages name it: nothing secret in it. */
export function shown(source: string): string {
  if (source === STDIN) return 'stdin';
  return show(ANY_URL.test(source) ? source.replace(PARAMETER, withoutSecret) : source);
}

/** A value may itself be names and values, as in `hdnts=exp=1~hmac=…`. */
function withoutSecret(parameter: string): string {
  const parts = parameter.split('=');
  const secret = parts.slice(0, -1).findIndex((name) => SECRET.test(name));
  return secret < 0 ? parameter : `${parts.slice(0, secret + 1).join('=')}=***`;
}

/** A place in a source. */
export function placeIn(source: string, line: number): string {
  return `${shown(source)} line ${line}`;
}

const XML_NAME = /\.xml(?:\.gz)?$/i;
const XML_TYPE = /[/+]xml\b/i;

/**
 * Why a source should be a sitemap, by its name or by the type that a server gives it; undefined if neither says so.
 */
export function xmlBy(source: string, type: string | null): string | undefined {
  if (type !== null && XML_TYPE.test(type)) return 'the server calls it XML';
  const path = isRemote(source) && URL.canParse(source) ? new URL(source).pathname : source;
  return XML_NAME.test(path) ? 'its name says XML' : undefined;
}
