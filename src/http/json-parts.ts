const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** Characters that begin a part of a JSON text or follow one: `[`, `{`, `:`, `,`. */
const PART_BYTES = new Uint8Array(256);
for (const byte of Buffer.from('[{:,')) PART_BYTES[byte] = 1;

/** Parsing a shorter text takes at most about 40 ms, whatever its contents. */
const HARMLESS_BYTES = 2 ** 18;

/**
 * True if a JSON text has more than `most` arrays, objects, members and elements. Each takes only one or two bytes, but
 * up to a hundred times as much time and memory as other bytes. So 16 MiB of brackets would block the process for
 * seconds. Doesn't check that the text is valid JSON.
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
      parts += PART_BYTES[byte] as number;
      if (parts > most) return true;
    }
  }
  return false;
}
