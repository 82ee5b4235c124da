import { isAscii, isUtf8 } from 'node:buffer';
import { placeIn } from './names.js';
import type { Chunks, Run } from './runs.js';

/** The longest line that any service accepts, in bytes. It limits the memory for a source. */
export const MAX_LINE_BYTES = 1024 * 1024;

const LF = 0x0a;
const CR = '\r';
const BYTE_ORDER_MARK = '\uFEFF';

/**
 * A text's lines, split as in the service: at LF or CRLF, without empty lines, and without a byte order mark at the
 * start. A line that isn't UTF-8 or exceeds MAX_LINE_BYTES is a fault.
 */
export async function* lineRuns(name: string, chunks: Chunks): AsyncGenerator<Run, void, undefined> {
  const lines = new LineReader(name);
  for await (const chunk of chunks) yield* lines.read(chunk);
  yield* lines.end();
}

class LineReader {
  private rest: Buffer[] = [];
  private restBytes = 0;
  /** How many lines came before the next ones. */
  private before = 0;
  /** True while skipping a line that is too long. */
  private skipping = false;

  constructor(private readonly name: string) {}

  *read(chunk: Buffer): Generator<Run, void, undefined> {
    const cut = chunk.lastIndexOf(LF) + 1;
    if (cut > 0) {
      const start = this.skipping ? chunk.indexOf(LF) + 1 : 0;
      if (this.skipping) yield this.tooLong();
      const whole = chunk.subarray(start, cut);
      const bytes = this.rest.length === 0 ? whole : Buffer.concat([...this.rest, whole]);
      this.forget();
      if (bytes.length > 0) yield* this.decode(bytes);
    }
    if (this.skipping) return;
    this.rest.push(chunk.subarray(cut));
    this.restBytes += chunk.length - cut;
    if (this.restBytes <= MAX_LINE_BYTES) return;
    this.forget();
    this.skipping = true;
  }

  *end(): Generator<Run, void, undefined> {
    if (this.skipping) yield this.tooLong();
    else if (this.restBytes > 0) yield* this.decode(Buffer.concat(this.rest));
  }

  private forget(): void {
    this.rest = [];
    this.restBytes = 0;
    this.skipping = false;
  }

  private tooLong(): Run {
    this.before++;
    return { items: [], fault: this.fault(`the line has more than ${MAX_LINE_BYTES} bytes`) };
  }

  /** Decodes whole lines. Only the source's last line may lack its line feed. */
  private *decode(bytes: Buffer): Generator<Run, void, undefined> {
    const ascii = isAscii(bytes);
    if (!ascii && !isUtf8(bytes)) {
      yield* this.decodeOneByOne(bytes);
      return;
    }
    const lines = bytes.toString(ascii ? 'latin1' : 'utf8').split('\n');
    if (lines.at(-1) === '') lines.pop();
    yield this.plain(lines);
  }

  private *decodeOneByOne(bytes: Buffer): Generator<Run, void, undefined> {
    let lines: string[] = [];
    for (let start = 0; start < bytes.length;) {
      const found = bytes.indexOf(LF, start);
      const line = bytes.subarray(start, found < 0 ? bytes.length : found);
      start += line.length + 1;
      if (isUtf8(line)) {
        lines.push(line.toString('utf8'));
        continue;
      }
      const run = this.plain(lines);
      lines = [];
      this.before++;
      yield { ...run, fault: this.fault('the line is not valid UTF-8') };
    }
    yield this.plain(lines);
  }

  private plain(lines: string[]): Run {
    const { name, before } = this;
    const [first] = lines;
    if (before === 0 && first?.startsWith(BYTE_ORDER_MARK)) lines[0] = first.slice(1);
    this.before += lines.length;
    let clean = true;
    for (const line of lines) clean &&= line !== '' && !line.endsWith(CR);
    if (clean) return { items: lines, placeOf: (i) => placeIn(name, before + i + 1) };
    const items: string[] = [];
    const numbers: number[] = [];
    for (const [i, line] of lines.entries()) {
      const item = line.endsWith(CR) ? line.slice(0, -1) : line;
      if (item === '') continue;
      items.push(item);
      numbers.push(before + i + 1);
    }
    return { items, placeOf: (i) => placeIn(name, numbers[i] as number) };
  }

  private fault(what: string): string {
    return `${placeIn(this.name, this.before)}: ${what}`;
  }
}
