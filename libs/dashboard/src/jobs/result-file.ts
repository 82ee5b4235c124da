import { itemOf, type Line } from '../lines/lines.js';

/** How many characters to collect before they become a Blob, which the browser may keep on disk. */
const PART = 2 ** 18;

/**
 * Each line's result on its own line: the word, a tab, the item. If an item has line breaks, it is written as JSON. The
 * page keeps only a small part of the file in memory.
 */
export class ResultFile {
  private readonly parts: Blob[] = [];
  private texts: string[] = [];
  private length = 0;

  add(lines: readonly Line[], results: readonly string[]): void {
    for (const [i, line] of lines.entries()) {
      const text = `${results[i] ?? ''}\t${inOneLine(itemOf(line))}\n`;
      this.texts.push(text);
      this.length += text.length;
    }
    if (this.length >= PART) this.cut();
  }

  /** The whole file so far. */
  whole(): Blob {
    this.cut();
    return new Blob(this.parts, { type: 'text/tab-separated-values' });
  }

  private cut(): void {
    if (this.length === 0) return;
    this.parts.push(new Blob(this.texts));
    [this.texts, this.length] = [[], 0];
  }
}

function inOneLine(item: string): string {
  return /[\n\r]/.test(item) ? JSON.stringify(item) : item;
}
