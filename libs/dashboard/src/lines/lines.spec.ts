import { describe, expect, it } from '@jest/globals';
import { LineError } from './line-error.js';
import { itemOf, linesOf, type Line, type Reading } from './lines.js';

async function read(files: readonly Blob[], reading?: Reading): Promise<Line[]> {
  const lines: Line[] = [];
  for await (const line of linesOf(files, reading)) lines.push(line);
  return lines;
}

async function joined(lines: AsyncIterable<Line>): Promise<string> {
  const all: string[] = [];
  for await (const line of lines) all.push(itemOf(line));
  return all.join('\n');
}

async function gzip(text: string, name = 'list.gz'): Promise<File> {
  const packed = new Blob([text]).stream().pipeThrough(new CompressionStream('gzip'));
  return new File([await new Response(packed).arrayBuffer()], name);
}

/** Larger than a slice of a file, with multi-byte characters at the ends of slices. */
const MANY = Array.from({ length: 60_000 }, (_, i) => `https://example.org/€😀/${i}`);

describe('an input list’s lines', () => {
  it('are read from text with any line ending', async () => {
    expect(await read([new Blob(['\ufeffa\r\n\nb c\n\r\n d'])])).toEqual(['a', 'b c', ' d']);
    expect(await read([new Blob([''])])).toEqual([]);
    expect(await read([])).toEqual([]);
  });

  it('come from one file after another, each read to its end', async () => {
    const first = new File(['a\nb'], 'first.txt');
    const second = new File(['c\n'], 'second.txt');
    expect(await read([first, second])).toEqual(['a', 'b', 'c']);
  });

  it('are the same in a compressed file with any name', async () => {
    const text = MANY.join('\n');
    const bytes: number[] = [];
    const packed = await gzip(text, 'list.txt');
    expect(await joined(linesOf([packed], { onRead: (more) => bytes.push(more) }))).toBe(text);
    expect(bytes.reduce((sum, more) => sum + more, 0)).toBe(packed.size);
    expect(await joined(linesOf([new Blob([text])]))).toBe(text);
  });

  it('report progress in bytes of the files', async () => {
    let bytes = 0;
    const file = new Blob([MANY.join('\n')]);
    const seen = new Set<number>();
    for await (const _ of linesOf([file, file], { onRead: (more) => (bytes += more) })) seen.add(bytes);
    expect(bytes).toBe(2 * file.size);
    // Progress is reported while reading, not only at the end.
    expect(seen.size).toBeGreaterThan(4);
  });

  it('are JSON if the first one is', async () => {
    const json = ['"a\\n"', '', '{"url":"b"}', '{"url":"c","payload":"p"}', '{"item":"d","result":"seen"}'];
    const lines = ['a\n', 'b', { url: 'c', payload: 'p' }, 'd'];
    expect(await read([new Blob([json.join('\n')]), new Blob(['e\n"f"'])])).toEqual([...lines, 'e', '"f"']);
    expect(await joined(linesOf([new Blob([json.join('\r\n')])]))).toBe('a\n\nb\nc\nd');
  });

  it('follow the given format', async () => {
    expect(await read([new Blob(['"a"\n12'])], { format: 'text' })).toEqual(['"a"', '12']);
    await expect(read([new Blob(['a'])], { format: 'ndjson' })).rejects.toThrow(
      'The text, line 1: it is neither a JSON string',
    );
  });

  it.each(['12', 'null', '["a"]', '{"url":1}', '{"other":"a"}', '"a', '"a","b"'])(
    'end with an error at an invalid line: %s',
    async (bad) => {
      const lines: Line[] = [];
      const reading = async (): Promise<void> => {
        for await (const line of linesOf([new File([`"a"\n\n${bad}\n"b"`], 'list.jsonl')])) lines.push(line);
      };
      await expect(reading()).rejects.toThrow(
        new LineError('list.jsonl', 3, 'it is neither a JSON string nor an object with a url'),
      );
      expect(lines).toEqual(['a']);
    },
  );

  it('end with an error at a line that is too long', async () => {
    const endless = new Blob(['a\n', 'x'.repeat(2 ** 20 + 2 ** 17)]);
    await expect(read([endless])).rejects.toThrow('The text, line 2: it has more than 1048576 characters');
  });

  it('are refused if the file is damaged or not text', async () => {
    const binary = new File([new Uint8Array([0xff, 0xfe, 0x41])], 'a.bin');
    await expect(read([binary])).rejects.toThrow('a.bin: it is not UTF-8 text');
    await expect(read([new Blob([new Uint8Array([0x41, 0xe2, 0x82])])])).rejects.toThrow('not UTF-8 text');
    const packed = await gzip(MANY.join('\n'));
    const cut = new File([packed.slice(0, packed.size - 100)], 'cut.gz');
    await expect(read([cut])).rejects.toThrow('cut.gz: it cannot be decompressed');
  });

  it('are read only as far as the caller reads them', async () => {
    let bytes = 0;
    const file = new Blob([MANY.join('\n').repeat(4)]);
    for await (const _ of linesOf([file, file], { onRead: (more) => (bytes += more) })) break;
    expect(bytes).toBeGreaterThan(0);
    expect(bytes).toBeLessThan(file.size / 4);
  });
});
