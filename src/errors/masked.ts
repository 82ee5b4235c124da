/** What may stand inside a secret that was pasted with its line breaks: as it is, or as JSON escapes it. */
const BREAK = String.raw`[\n\r\t]|\\+[nrt]`;

/** API keys, tokens, and the userinfo of URLs, inside any text. */
const SECRETS: readonly (readonly [RegExp, string])[] = [
  [
    new RegExp(String.raw`(unseen_(?:(?:${BREAK})*[0-9a-f]){16}(?:${BREAK})*_)(?:[\w-]|${BREAK})+`, 'g'),
    '$1***',
  ],
  [new RegExp(String.raw`\beyJ(?:[\w-]|${BREAK})+\.(?:[\w-]|${BREAK})+\.(?:[\w-]|${BREAK})*`, 'g'), '***'],
  // Masks up to the last "@" before the host ends, because URL parsers count earlier ones as part of the password.
  [new RegExp(String.raw`(\/\/)(?:[^\s/?#"\\]|${BREAK})*@`, 'g'), '$1***@'],
];

/** A text for a log, an answer or a screen without the secrets that can be recognised in it. */
export function masked(text: string): string {
  return SECRETS.reduce((kept, [secret, mask]) => kept.replace(secret, mask), text);
}
