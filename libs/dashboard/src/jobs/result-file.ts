import { itemOf, type Line } from '../lines/lines.js';

/** Characters that are held as text before they become a part that the browser may put where it likes. */
const PART = 2 ** 18;

/**
 * What became of each line, a line each: the word, a tab, the item. An item that has line ends in it stands as JSON. The page
 * itself holds little of it, however long it is.
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

  /** All of it so far. */
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
