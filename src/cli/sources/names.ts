import { show } from '../../errors/show.js';

/** The name of stdin. */
export const STDIN = '-';

/** Any scheme, because a sitemap may contain URLs that are never fetched. */
const ANY_URL = /^[a-z][a-z\d+.-]*:\/\//i;

/** A URL parameter, with the separator before it. */
const PARAMETER = /[?&;#][^&;#]*/g;
/**
 * Names of parameters whose values give access: tokens, codes, and signatures in signed URLs. Includes `hash`, because
 * a hash may be such a signature and messages don't need hashes.
 */
const SECRET = /auth|code|cred|hash|hmac|jwt|key|pass|pwd|secret|session|sig|token/i;

/** True if the source is a URL. */
export function isRemote(source: string): boolean {
  return /^https?:\/\//i.test(source);
}

/** A source's name for messages, with secrets masked. */
export function shown(source: string): string {
  if (source === STDIN) return 'stdin';
  return show(ANY_URL.test(source) ? source.replace(PARAMETER, withoutSecret) : source);
}

/** Masks a secret value. A value may itself contain names and values, as in `hdnts=exp=1~hmac=…`. */
function withoutSecret(parameter: string): string {
  const parts = parameter.split('=');
  const secret = parts.slice(0, -1).findIndex((name) => SECRET.test(name));
  return secret < 0 ? parameter : `${parts.slice(0, secret + 1).join('=')}=***`;
}

export function placeIn(source: string, line: number): string {
  return `${shown(source)} line ${line}`;
}

const XML_NAME = /\.xml(?:\.gz)?$/i;
const XML_TYPE = /[/+]xml\b/i;

/**
 * The reason to expect a sitemap: the source's name, or the type that the server sends. Undefined if neither says XML.
 */
export function xmlBy(source: string, type: string | null): string | undefined {
  if (type !== null && XML_TYPE.test(type)) return 'the server calls it XML';
  const path = isRemote(source) && URL.canParse(source) ? new URL(source).pathname : source;
  return XML_NAME.test(path) ? 'its name says XML' : undefined;
}
