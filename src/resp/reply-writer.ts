/** The version of the protocol that a connection speaks: RESP 2, or RESP 3 after `HELLO 3`. */
export type Protocol = 2 | 3;

/** Writes a reply later, in the protocol that the connection speaks by then. */
export type Reply = (write: ReplyWriter) => void;

/** Writes the simple reply `OK`. */
export const ok: Reply = (write) => write.simple('OK');

const NOT_ASCII = /[^\0-\x7f]/;
const LINE_BREAKS = /[\r\n]+/g;

/**
 * Collects a connection's replies, in order. Where RESP 2 lacks a type, uses the type that Redis uses. The text is
 * Latin-1: one character per byte.
 */
export class ReplyWriter {
  protocol: Protocol = 2;
  private text = '';

  /** Number of bytes that `take` returns. */
  get length(): number {
    return this.text.length;
  }

  /** Returns the replies as Latin-1, and forgets them. */
  take(): string {
    const { text } = this;
    this.text = '';
    return text;
  }

  simple(text: string): void {
    this.text += `+${text}\r\n`;
  }

  /** An error: a code word, and a message of one line. */
  error(code: string, message: string): void {
    this.text += `-${code} ${asBytes(message.replace(LINE_BREAKS, ' '))}\r\n`;
  }

  integer(value: number): void {
    this.text += `:${value}\r\n`;
  }

  /** An integer in RESP 2. */
  boolean(value: boolean): void {
    if (this.protocol === 3) this.text += value ? '#t\r\n' : '#f\r\n';
    else this.text += value ? ':1\r\n' : ':0\r\n';
  }

  /** A string in RESP 2. */
  double(value: number): void {
    if (this.protocol === 3) this.text += `,${value}\r\n`;
    else this.bulk(String(value));
  }

  bulk(text: string): void {
    this.bytes(asBytes(text));
  }

  /** A string of bytes, as Latin-1. */
  bytes(bytes: string): void {
    this.text += `$${bytes.length}\r\n${bytes}\r\n`;
  }

  null(): void {
    this.text += this.protocol === 3 ? '_\r\n' : '$-1\r\n';
  }

  /** The head of an array. Its values follow. */
  array(length: number): void {
    this.text += `*${length}\r\n`;
  }

  /** The head of a map. Its keys and values follow in turn. An array in RESP 2. */
  map(size: number): void {
    this.text += this.protocol === 3 ? `%${size}\r\n` : `*${2 * size}\r\n`;
  }
}

/** The UTF-8 bytes of a text, as Latin-1. */
function asBytes(text: string): string {
  return NOT_ASCII.test(text) ? Buffer.from(text).toString('latin1') : text;
}
