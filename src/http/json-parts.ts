const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** Each of these begins a part of a JSON text or follows one: `[`, `{`, `:`, `,`. */
const MARKS = new Uint8Array(256);
for (const mark of Buffer.from('[{:,')) MARKS[mark] = 1;

/** Shorter texts are parsed within some 40 ms, whatever is in them. */
const HARMLESS_BYTES = 2 ** 18;

/**
 * Whether a JSON text has more arrays, objects, members and elements than `most`. They cost the parser up to a hundred
 * times the time and memory of the byte or two that each takes: 16 MiB of brackets hold the process for seconds. What
 * is no JSON is counted as it comes.
 */
export function hasTooManyParts(raw: Buffer, most: number): boolean {
  if (raw.length <= HARMLESS_BYTES) return false;
  let parts = 0;
  let inString = false;
  for (let at = 0; at < raw.length; at++) {
    const byte = raw[at] as number;
    if (inString) {
      if (byte === BACKSLASH) at++;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE) inString = true;
    else {
      parts += MARKS[byte] as number;
      if (parts > most) return true;
    }
  }
  return false;
}
