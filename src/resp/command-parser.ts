/** One command: its arguments, starting with the name, as bytes in a shared buffer. */
export interface RespCommand {
  readonly bytes: Buffer;
  /** Argument i is `bytes` from `span[2i]` to `span[2i + 1]`, exclusive. */
  readonly span: readonly number[];
}

/** The largest command that a connection may send. */
export interface CommandLimits {
  readonly maxArguments: number;
  readonly maxArgumentBytes: number;
  readonly maxCommandBytes: number;
}

/**
 * The input isn't a command, or a command exceeds a limit. The parser can't find the next command, so the connection
 * must close.
 */
export class ProtocolFault extends Error {}

const STAR = 0x2a;
const DOLLAR = 0x24;
const CR = 0x0d;
const LF = 0x0a;
const ZERO = 0x30;
const EMPTY = Buffer.alloc(0);
/** Enough for every number within the limits. */
const MOST_DIGITS = 10;
const LEAST_ROOM = 64 * 1024;

/**
 * Splits a connection's input into commands: arrays of bulk strings, the only form that clients send. Each command's
 * first byte must be `*`, so a request from a web page is refused at its first byte.
 *
 * The parser remembers the arguments of an incomplete command, and copies each byte at most twice on average. So a
 * client that sends single bytes costs little more than receiving them.
 */
export class CommandParser {
  private bytes: Buffer = EMPTY;
  /** End of the input in `bytes`. The buffer may have free space after it. */
  private end = 0;
  private at = 0;
  /** Where the current command begins. */
  private start = 0;
  /** Number of arguments in the current command, or 0 before its first line is read. */
  private arguments = 0;
  private span: number[] = [];
  private fault: ProtocolFault | undefined;
  private taken = 0;

  constructor(public limits: CommandLimits) {}

  /** Number of bytes in commands that `next` has not returned yet. */
  get unreadBytes(): number {
    return this.end - this.start;
  }

  /** How many commands `next` has returned. */
  get commands(): number {
    return this.taken;
  }

  /** Adds input. Doesn't change commands that `next` has returned. */
  push(chunk: Buffer): void {
    const kept = this.unreadBytes;
    if (kept === 0) {
      this.replace(chunk, chunk.length);
      return;
    }
    if (this.end + chunk.length > this.bytes.length) {
      const room = Buffer.allocUnsafeSlow(Math.max(2 * (kept + chunk.length), LEAST_ROOM));
      this.bytes.copy(room, 0, this.start, this.end);
      this.replace(room, kept);
    }
    chunk.copy(this.bytes, this.end);
    this.end += chunk.length;
  }

  /**
   * Returns the next command, or undefined until more input arrives. Once it has thrown a ProtocolFault, it always
   * throws the same one.
   */
  next(): RespCommand | undefined {
    if (this.fault !== undefined) throw this.fault;
    try {
      return this.read();
    } catch (error) {
      if (error instanceof ProtocolFault) this.fault = error;
      throw error;
    }
  }

  private read(): RespCommand | undefined {
    if (this.arguments === 0) {
      if (this.skipEmptyLines()) return undefined;
      if (this.at === this.end) {
        // Free the memory of an idle connection.
        this.replace(EMPTY, 0);
        return undefined;
      }
      const { maxArguments } = this.limits;
      const count = this.header(STAR, 'a command must be an array of bulk strings');
      if (count === undefined) return undefined;
      if (count === 0) throw new ProtocolFault('a command must have a name');
      if (count > maxArguments) {
        throw new ProtocolFault(`a command may have at most ${maxArguments} arguments here, not ${count}`);
      }
      this.arguments = count;
    }
    while (this.span.length < 2 * this.arguments) if (!this.argument()) return undefined;
    const command = { bytes: this.bytes, span: this.span };
    this.start = this.at;
    this.arguments = 0;
    this.span = [];
    this.taken++;
    return command;
  }

  /**
   * Skips empty lines between commands. Some clients send them, and Redis ignores them. Returns true if the last one
   * may be incomplete.
   */
  private skipEmptyLines(): boolean {
    const { bytes, end } = this;
    while (this.taken > 0 && this.at < end && bytes[this.at] === CR) {
      if (this.at + 1 === end) return true;
      if (bytes[this.at + 1] !== LF) return false;
      this.at += 2;
      this.start = this.at;
    }
    return false;
  }

  /** Reads one argument. Returns false if it is incomplete. */
  private argument(): boolean {
    const { maxArgumentBytes, maxCommandBytes } = this.limits;
    const before = this.at;
    const length = this.header(DOLLAR, 'each argument of a command must be a bulk string');
    if (length === undefined) return false;
    if (length > maxArgumentBytes) {
      throw new ProtocolFault(`an argument may have at most ${maxArgumentBytes} bytes here, not ${length}`);
    }
    const from = this.at;
    const to = from + length;
    if (to + 2 - this.start > maxCommandBytes) {
      throw new ProtocolFault(`a command may have at most ${maxCommandBytes} bytes here`);
    }
    if (to + 2 > this.end) {
      this.at = before;
      return false;
    }
    if (this.bytes[to] !== CR || this.bytes[to + 1] !== LF) {
      throw new ProtocolFault('an argument is longer than its announced length');
    }
    this.span.push(from, to);
    this.at = to + 2;
    return true;
  }

  /**
   * Reads the number in a line such as `*3` or `$5`. If the line is incomplete, leaves it unread and returns undefined.
   */
  private header(type: number, requirement: string): number | undefined {
    const { bytes, end } = this;
    let at = this.at;
    if (at === end) return undefined;
    if (bytes[at++] !== type) throw new ProtocolFault(requirement);
    let value = 0;
    const first = at;
    for (; at < end; at++) {
      const digit = (bytes[at] as number) - ZERO;
      if (digit < 0 || digit > 9) break;
      value = 10 * value + digit;
    }
    const digits = at - first;
    if (digits > MOST_DIGITS) throw new ProtocolFault('a length has too many digits');
    if (at === end) return undefined;
    if (digits === 0 || bytes[at] !== CR) throw new ProtocolFault('a length must be a whole number');
    if (at + 1 === end) return undefined;
    if (bytes[at + 1] !== LF) throw new ProtocolFault('a line must end with CR LF');
    this.at = at + 2;
    return value;
  }

  /** Continues in another buffer that begins with the unread bytes. */
  private replace(bytes: Buffer, end: number): void {
    const moved = this.start;
    for (let i = 0; i < this.span.length; i++) this.span[i] = (this.span[i] as number) - moved;
    this.bytes = bytes;
    this.end = end;
    this.at -= moved;
    this.start = 0;
  }
}
