/** The tokens that may come next. */
type Expected = 'value' | 'value or ]' | 'key' | 'key or }' | 'colon' | 'comma or end';
/** A token, by its first character. */
type Token = '[' | ']' | '{' | '}' | ':' | ',' | 'string' | 'scalar';

const SCALAR = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null/y;
const HEX = /[0-9a-fA-F]{4}/y;
/** Characters that may follow a backslash. */
const ESCAPED = new Set(Array.from('"\\/bfnrt', (char) => char.charCodeAt(0)));
const [QUOTE, BACKSLASH, LETTER_U] = [0x22, 0x5c, 0x75];

/** How many characters of a string to search between two pauses. */
const STRIDE = 64 * 1024;

/**
 * The position of the first error in a JSON text that JSON.parse has refused, in characters from 0. If the text only
 * ends too early, its length. JSON.parse's own messages don't always have a position. Takes linear time, without
 * recursion. Yields where a long search may pause.
 */
export function* jsonErrorAt(text: string): Generator<undefined, number, undefined> {
  const open: ('[' | '{')[] = [];
  let expected: Expected = 'value';
  let at = skipSpace(text, 0);
  while (at < text.length) {
    const token = tokenAt(text, at);
    const next = follow(expected, token, open);
    if (next === undefined) return at;
    const end = token === 'string' ? yield* stringEnd(text, at) : tokenEnd(token, text, at);
    if (!end.whole) return end.at;
    expected = next;
    at = skipSpace(text, end.at);
  }
  return text.length;
}

function tokenAt(text: string, at: number): Token {
  const char = text[at] as string;
  if (char === '"') return 'string';
  return '[]{}:,'.includes(char) ? (char as Token) : 'scalar';
}

/** The tokens that may follow `token`, or undefined if the token was not expected. Updates the open brackets. */
function follow(expected: Expected, token: Token, open: ('[' | '{')[]): Expected | undefined {
  const container = open.at(-1);
  const closes = (token === ']' && container === '[') || (token === '}' && container === '{');
  if (closes && expected !== 'value' && expected !== 'key' && expected !== 'colon') {
    open.pop();
    return 'comma or end';
  }
  switch (expected) {
    case 'value':
    case 'value or ]':
      if (token === 'string' || token === 'scalar') return 'comma or end';
      if (token !== '[' && token !== '{') return undefined;
      open.push(token);
      return token === '[' ? 'value or ]' : 'key or }';
    case 'key':
    case 'key or }':
      return token === 'string' ? 'colon' : undefined;
    case 'colon':
      return token === ':' ? 'value' : undefined;
    case 'comma or end':
      if (token !== ',' || container === undefined) return undefined;
      return container === '[' ? 'value' : 'key';
  }
}

function skipSpace(text: string, from: number): number {
  let at = from;
  for (let c = text.charCodeAt(at); c === 32 || c === 10 || c === 13 || c === 9; c = text.charCodeAt(at))
    at++;
  return at;
}

/** The end of a token, or the position of its error if it isn't complete. */
interface End {
  readonly at: number;
  readonly whole: boolean;
}

function tokenEnd(token: Exclude<Token, 'string'>, text: string, at: number): End {
  if (token !== 'scalar') return { at: at + 1, whole: true };
  const end = matchEnd(SCALAR, text, at);
  return { at: end ?? at, whole: end !== undefined };
}

function* stringEnd(text: string, from: number): Generator<undefined, End, undefined> {
  let at = from + 1;
  let pauseAt = at + STRIDE;
  while (at < text.length) {
    if (at >= pauseAt) {
      yield undefined;
      pauseAt = at + STRIDE;
    }
    const c = text.charCodeAt(at);
    if (c === QUOTE) return { at: at + 1, whole: true };
    if (c < 32) break;
    const next = c === BACKSLASH ? escapeEnd(text, at) : at + 1;
    if (next === undefined) break;
    at = next;
  }
  return { at, whole: false };
}

/** The end of the escape at `at`, or undefined if it is invalid. A regular expression would take ten times as long. */
function escapeEnd(text: string, at: number): number | undefined {
  const c = text.charCodeAt(at + 1);
  if (ESCAPED.has(c)) return at + 2;
  return c === LETTER_U ? matchEnd(HEX, text, at + 2) : undefined;
}

function matchEnd(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}
