import sax, { type SAXParser } from 'sax';
import { show } from '../../errors/show.js';
import { oneLine, reasonOf, UsageError } from '../ending.js';
import { placeIn, shown } from './names.js';
import type { Chunks, Run } from './runs.js';

/** The sitemap protocol allows 50 MB. A file several times as large is not a sitemap. */
const MAX_BYTES = 256 * 1024 * 1024;
/** The protocol allows 2,048 characters in a `loc`, and no service accepts an item with more bytes than this. */
const MAX_LOC = 64 * 1024;
/** Enough for urlset, url, and elements from extensions. */
const MAX_DEPTH = 32;

/** A part of a sitemap: page URLs, or the URLs of sitemaps in an index. */
export interface SitemapPart extends Run {
  readonly kind: 'pages' | 'sitemaps';
}

/**
 * Reads a sitemap or a sitemap index as it arrives. Takes only the `loc` of a `url` or `sitemap`, not of an image or
 * another element. Throws UsageError with the line number for an invalid sitemap. Even a hostile sitemap uses only
 * limited memory.
 */
export async function* sitemapParts(
  name: string,
  chunks: Chunks,
): AsyncGenerator<SitemapPart, void, undefined> {
  const reader = new SitemapReader(name);
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) throw reader.failure(`it has more than ${MAX_BYTES} bytes`);
    reader.write(decoded(decoder, chunk, reader));
    yield* reader.take();
  }
  reader.write(decoded(decoder, undefined, reader));
  reader.close();
  yield* reader.take();
}

function decoded(
  decoder: InstanceType<typeof TextDecoder>,
  chunk: Buffer | undefined,
  reader: SitemapReader,
): string {
  try {
    return chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true });
  } catch {
    throw reader.failure('it is not valid UTF-8');
  }
}

class SitemapReader {
  private readonly parser: SAXParser = sax.parser(true, { trim: false, position: true });
  private parts: SitemapPart[] = [];
  private locs: string[] = [];
  /** Line numbers of `locs`. */
  private lines: number[] = [];
  /** True if the open entry has a loc. */
  private hasLoc = false;
  private readonly open: string[] = [];
  private loc: string | undefined;
  private root: string | undefined;
  /** The name of entry elements, with the root's prefix. */
  private entry: string | undefined;

  constructor(private readonly name: string) {
    this.parser.onerror = (error) => {
      // The parser's next lines give the place, which it counts from 0.
      throw this.failure(oneLine(reasonOf(error).replace(/\n[^]*/, '')));
    };
    this.parser.onopentag = ({ name: tag }) => this.opened(tag);
    this.parser.onclosetag = () => this.closed();
    this.parser.ontext = (text) => this.text(text);
    this.parser.oncdata = (text) => this.text(text);
    // Sitemaps declare no entities, so they need no DOCTYPE.
    this.parser.ondoctype = () => {
      throw this.failure('it contains a DOCTYPE, which is not allowed in a sitemap');
    };
  }

  write(text: string): void {
    if (text !== '') this.parser.write(text);
  }

  close(): void {
    this.parser.close();
    if (this.root === undefined) throw this.failure('it has no elements');
  }

  /** Returns the parts that were read since the last call. */
  take(): SitemapPart[] {
    this.part();
    const { parts } = this;
    this.parts = [];
    return parts;
  }

  private part(fault?: string): void {
    const { name, locs: items, lines } = this;
    const kind = this.root?.endsWith('sitemapindex') === true ? 'sitemaps' : 'pages';
    const placeOf = (i: number): string => placeIn(name, lines[i] as number);
    this.parts.push({ kind, items, placeOf, ...(fault !== undefined && { fault }) });
    [this.locs, this.lines] = [[], []];
  }

  failure(what: string): UsageError {
    return new UsageError(`cannot read the sitemap ${shown(this.name)}, line ${this.line}: ${what}`);
  }

  private opened(tag: string): void {
    if (this.root === undefined) {
      const [local] = tag.split(':').slice(-1);
      if (local !== 'urlset' && local !== 'sitemapindex') {
        throw this.failure(`its root element is ${show(tag)}, not urlset or sitemapindex`);
      }
      this.root = tag;
      this.entry = tag.replace(/(?:urlset|sitemapindex)$/, local === 'urlset' ? 'url' : 'sitemap');
    }
    this.open.push(tag);
    if (this.open.length > MAX_DEPTH)
      throw this.failure(`its elements are nested more than ${MAX_DEPTH} levels deep`);
    if (this.isLoc()) this.loc = '';
  }

  private closed(): void {
    const tag = this.open.at(-1);
    if (this.loc !== undefined && this.isLoc()) {
      const loc = this.loc.trim();
      this.loc = undefined;
      if (loc !== '') {
        this.locs.push(loc);
        this.lines.push(this.line);
        this.hasLoc = true;
      }
    } else if (this.open.length === 2 && tag === this.entry) {
      if (!this.hasLoc) this.part(`${placeIn(this.name, this.line)}: this ${tag} has no loc`);
      this.hasLoc = false;
    }
    this.open.pop();
  }

  private text(text: string): void {
    if (this.loc === undefined) return;
    this.loc += text;
    if (this.loc.length > MAX_LOC) throw this.failure(`a loc has more than ${MAX_LOC} characters`);
  }

  private get line(): number {
    return this.parser.line + 1;
  }

  /** True if the innermost element is an entry's `loc`. */
  private isLoc(): boolean {
    const { open, entry } = this;
    if (entry === undefined || open.length !== 3 || open[1] !== entry) return false;
    return open[2] === `${entry.slice(0, entry.lastIndexOf(':') + 1)}loc`;
  }
}
