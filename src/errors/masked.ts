/** A line break that was pasted with a secret, raw or escaped as in JSON. */
const BREAK = String.raw`[\n\r\t]|\\+[nrt]`;
const PART = String.raw`(?:[\w-]|${BREAK})+`;

const API_KEY = new RegExp(String.raw`(unseen_(?:(?:${BREAK})*[0-9a-f]){16}(?:${BREAK})*_)${PART}`, 'g');
/** A token, or only its first part. Matching a lone first part keeps later matches from starting inside it. */
const TOKEN = new RegExp(String.raw`\beyJ${PART}(\.${PART}\.(?:${PART})?)?`, 'g');
/**
 * Userinfo goes up to the last "@" before the end of the host. URL parsers count earlier ones as part of the password.
 */
const USERINFO = new RegExp(String.raw`(\/\/)(?:[^\s/?#"\\]|${BREAK})*@`, 'g');

/** Removes recognisable API keys, tokens and userinfo from a text for a log, an answer or a screen. */
export function masked(text: string): string {
  return text
    .replace(API_KEY, '$1***')
    .replace(TOKEN, (token, rest?: string) => (rest === undefined ? token : '***'))
    .replace(USERINFO, '$1***@');
}
