/** `ndjson`: one JSON string per line. `text`: one item per line, which ends with LF or CRLF. */
export type LineFormat = 'ndjson' | 'text';

/** The formats of streamed batches, by media type. */
export const LINE_FORMATS: ReadonlyMap<string, LineFormat> = new Map([
  ['application/x-ndjson', 'ndjson'],
  ['text/plain', 'text'],
]);

/**
 * At the start of a text, this character only marks it as UTF-8, and isn't part of it. Some editors add it by default.
 */
export const BYTE_ORDER_MARK = '\ufeff';

/** Bytes of `{"url": "…", "payload": "…"}` without the two texts, but with some white space. */
const OBJECT_BYTES = 64;

/**
 * Maximum length of a line as sent, in bytes. In JSON, one byte may take six (`\u0041`), and the quotes add two. A line
 * of text may end with a CR, and the first one may begin with a byte order mark.
 */
export function maxLineBytes(format: LineFormat, maxItemBytes: number, maxPayloadBytes = 0): number {
  if (format === 'ndjson' && maxPayloadBytes > 0) return (maxItemBytes + maxPayloadBytes) * 6 + OBJECT_BYTES;
  return format === 'ndjson' ? maxItemBytes * 6 + 2 : maxItemBytes + 1 + Buffer.byteLength(BYTE_ORDER_MARK);
}
