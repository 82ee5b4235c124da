/** Types whose first line counts the bytes that follow, and types whose first line counts the values. */
const BLOBS = '$=!';
const AGGREGATES = '*~>%';

/** Splits a stream in Redis' protocol into frames: whole commands, or whole replies. */
export class RespFrames {
  /** Each complete frame's length, in bytes. */
  readonly lengths: number[] = [];
  private begun: Buffer = Buffer.alloc(0);

  /** Takes the stream's next bytes. Returns the offsets in `chunk` at which frames end. */
  ends(chunk: Buffer): number[] {
    const bytes = Buffer.concat([this.begun, chunk]);
    const before = this.begun.length;
    const found: number[] = [];
    let at = 0;
    for (let end = endOf(bytes, 0); end !== undefined; end = endOf(bytes, at)) {
      this.lengths.push(end - at);
      at = end;
      found.push(end - before);
    }
    this.begun = bytes.subarray(at);
    return found;
  }
}

/** Where the value at offset `begin` ends. Undefined if the value is incomplete. */
function endOf(bytes: Buffer, begin: number): number | undefined {
  const line = bytes.indexOf('\r\n', begin);
  if (line < 0) return undefined;
  const type = String.fromCharCode(bytes[begin]!);
  const size = Number(bytes.toString('latin1', begin + 1, line));
  let end = line + 2;
  if (BLOBS.includes(type)) {
    if (size >= 0) end += size + 2;
    return end <= bytes.length ? end : undefined;
  }
  const values = AGGREGATES.includes(type) ? size * (type === '%' ? 2 : 1) : 0;
  for (let value = 0; value < values; value++) {
    const next = endOf(bytes, end);
    if (next === undefined) return undefined;
    end = next;
  }
  return end;
}
