import { fstatSync } from 'node:fs';
import { addAbortSignal, type Readable } from 'node:stream';
import { show } from '../../errors/show.js';
import { Ending, reasonOf, UsageError } from '../ending.js';
import { inUtf8, sitemapOrLines, unpacked } from './head.js';
import { lineRuns } from './lines.js';
import { cannotRead, openLocal, sizeOf } from './local.js';
import { SourceMeter } from './meter.js';
import { isRemote, shown, STDIN } from './names.js';
import { openRemote, withUserOf } from './remote.js';
import type { Chunks, Run, Source } from './runs.js';
import { sitemapParts } from './sitemap.js';

/** An index names sitemaps, and a few sites have indexes of indexes. */
const MAX_INDEX_DEPTH = 3;
const MAX_SITEMAPS = 50_000;

/** `auto`: a source that begins like XML is a sitemap. */
export type SourceFormat = 'auto' | 'lines' | 'sitemap';

/**
 * Files, URLs, and `-` for stdin, read one after another. Each has lines or a sitemap, and may be compressed with gzip.
 */
export class Sources implements Source {
  readonly meter = new SourceMeter();
  /** Names of sources without entries, for messages. Complete once every source has been read. */
  readonly empty: string[] = [];
  private readonly seenSitemaps = new Set<string>();

  private constructor(
    private readonly names: readonly string[],
    private readonly format: SourceFormat,
    private readonly signal: AbortSignal,
  ) {}

  /** Throws UsageError if a local source can't be read. `signal` stops reading. */
  static async of(names: readonly string[], format: SourceFormat, signal: AbortSignal): Promise<Sources> {
    const sources = new Sources(names.length === 0 ? [STDIN] : names, format, signal);
    if (sources.names.filter((name) => name === STDIN).length > 1)
      throw new UsageError(`stdin, ${show(STDIN)}, can be read only once`);
    for (const name of sources.names) {
      if (isRemote(name)) sources.meter.expect(undefined);
      else sources.meter.expect(name === STDIN ? stdinSize() : await sizeOf(name));
    }
    return sources;
  }

  /** Call it once. */
  async *runs(): AsyncGenerator<Run, void, undefined> {
    for (const name of this.names) yield* this.runsOf(name, []);
  }

  /** `within`: the sitemaps that led here from a source, outermost first. */
  private async *runsOf(name: string, within: readonly string[]): AsyncGenerator<Run, void, undefined> {
    const { stream, type } = await this.open(name);
    const raw = await inUtf8(name, await unpacked(name, this.bytes(name, stream)));
    const wanted = within.length > 0 ? 'sitemap' : this.format;
    const { kind, chunks } =
      wanted === 'auto' ? await sitemapOrLines(name, type, raw) : { kind: wanted, chunks: raw };
    let isEmpty = true;
    // An index that names a sitemap isn't empty, even if the sitemap is skipped because it was already read.
    const named = (): boolean => (isEmpty = false);
    const runs = kind === 'lines' ? lineRuns(name, chunks) : this.sitemap(name, chunks, within, named);
    for await (const run of runs) {
      isEmpty &&= run.items.length === 0 && run.fault === undefined;
      yield run;
    }
    if (isEmpty) this.empty.push(shown(name));
  }

  /** Calls `named` for each sitemap that an index names, except for indexes that contain it. */
  private async *sitemap(
    name: string,
    chunks: Chunks,
    within: readonly string[],
    named: () => void,
  ): AsyncGenerator<Run, void, undefined> {
    const nested: string[] = [];
    for await (const part of sitemapParts(name, chunks)) {
      if (part.kind === 'pages') {
        yield part;
        continue;
      }
      nested.push(...part.items);
      if (part.fault !== undefined) yield { items: [], fault: part.fault };
      if (nested.length > MAX_SITEMAPS) throw cannotRead(name, `it lists more than ${MAX_SITEMAPS} sitemaps`);
    }
    for (const url of nested) {
      if (url === name || within.includes(url)) continue;
      named();
      if (this.seenSitemaps.has(url)) continue;
      this.seenSitemaps.add(url);
      if (!isRemote(url)) throw cannotRead(name, `it lists ${shown(url)}, which is not http or https`);
      if (within.length === MAX_INDEX_DEPTH)
        throw cannotRead(name, `sitemap indexes are nested more than ${MAX_INDEX_DEPTH} levels deep`);
      if (this.seenSitemaps.size > MAX_SITEMAPS)
        throw cannotRead(name, `the indexes list more than ${MAX_SITEMAPS} sitemaps`);
      yield* this.runsOf(withUserOf(name, url), [...within, url]);
    }
  }

  private async open(name: string): Promise<{ stream: Readable; type: string | null }> {
    if (isRemote(name)) return openRemote(name, this.signal);
    const stream = name === STDIN ? process.stdin : await openLocal(name);
    return { stream: addAbortSignal(this.signal, stream), type: null };
  }

  private async *bytes(name: string, stream: Readable): AsyncGenerator<Buffer> {
    try {
      for await (const chunk of stream) {
        this.meter.read += (chunk as Buffer).length;
        yield chunk as Buffer;
      }
    } catch (error) {
      this.signal.throwIfAborted();
      throw error instanceof Ending ? error : cannotRead(name, reasonOf(error));
    }
  }
}

function stdinSize(): number | undefined {
  try {
    const found = fstatSync(0);
    return found.isFile() ? found.size : undefined;
  } catch {
    return undefined;
  }
}
