/** `ndjson`: a JSON string a line. `text`: a line an item, LF or CRLF. */
export type LineFormat = 'ndjson' | 'text';

/** The formats of streamed batches, by media type. */
export const LINE_FORMATS: ReadonlyMap<string, LineFormat> = new Map([
  ['application/x-ndjson', 'ndjson'],
  ['text/plain', 'text'],
]);

/** At the start of a text it says that the text is UTF-8, and is no part of it; editors put it there unasked. */
export const BYTE_ORDER_MARK = '\ufeff';

/** What `{"url": "…", "payload": "…"}` takes beside both texts, with some white space. */
const OBJECT_BYTES = 64;

/**
 * Bytes a line may have on the wire: JSON writes a byte in up to six (`\u0041`), between two quotes; a line of text may
 * have a CR behind it, the first one a byte order mark before it.
 */
export function maxLineBytes(format: LineFormat, maxItemBytes: number, maxPayloadBytes = 0): number {
  if (format === 'ndjson' && maxPayloadBytes > 0) return (maxItemBytes + maxPayloadBytes) * 6 + OBJECT_BYTES;
  return format === 'ndjson' ? maxItemBytes * 6 + 2 : maxItemBytes + 1 + Buffer.byteLength(BYTE_ORDER_MARK);
}
