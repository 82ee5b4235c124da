import { describe, expect, it } from '@jest/globals';
import { headerOf } from './file-header.js';

const HEADER = {
  name: 'crawl',
  kind: 'visited-set',
  capacity: 1_000,
  errorRate: 0.01,
  exportedAt: 1_750_000_000_000,
};

/** As in docs/export-format.md: magic, version, then a frame of type H. */
function fileOf(header: unknown): Uint8Array<ArrayBuffer> {
  const payload = new TextEncoder().encode(JSON.stringify(header));
  const magic = [0x89, 0x55, 0x4e, 0x53, 0x45, 0x45, 0x4e, 0x0d, 0x0a, 0x1a, 0x0a];
  const bytes = new Uint8Array([
    ...magic,
    2,
    0x48,
    0,
    0,
    payload.length >> 8,
    payload.length & 0xff,
    ...payload,
  ]);
  return new Uint8Array([...bytes, 1, 2, 3, 4]);
}

function changed(at: number, byte: number): Blob {
  const bytes = fileOf(HEADER);
  bytes[at] = byte;
  return new Blob([bytes]);
}

describe('an export file’s header', () => {
  it('names the exported set', async () => {
    expect(await headerOf(new Blob([fileOf(HEADER)]))).toEqual({ ...HEADER, kind: 'sets' });
    expect(await headerOf(changed(11, 1))).toEqual({ ...HEADER, kind: 'sets' });
    expect(await headerOf(new Blob([fileOf({ ...HEADER, kind: 'filter' })]))).toMatchObject({
      kind: 'filters',
    });
  });

  it('is refused in a file with a different format', async () => {
    await expect(headerOf(new Blob(['https://example.org/\n'.repeat(9)]))).rejects.toThrow('not an export');
    await expect(headerOf(new Blob([]))).rejects.toThrow('not an export');
    await expect(headerOf(changed(0, 0x0a))).rejects.toThrow('not an export');
  });

  it('is refused in a different version, truncated, or damaged', async () => {
    await expect(headerOf(changed(11, 3))).rejects.toThrow('version 3');
    await expect(headerOf(changed(11, 0))).rejects.toThrow('version 0');
    await expect(headerOf(changed(12, 0x43))).rejects.toThrow('damaged');
    await expect(headerOf(changed(13, 0xff))).rejects.toThrow('damaged');
    await expect(headerOf(changed(17, 0x2c))).rejects.toThrow('damaged');
    for (const other of [null, 'H', { ...HEADER, name: 7 }])
      await expect(headerOf(new Blob([fileOf(other)]))).rejects.toThrow('damaged');
    for (const kind of ['queue', 'constructor', ['filter'], undefined])
      await expect(headerOf(new Blob([fileOf({ ...HEADER, kind })]))).rejects.toThrow('damaged');
    // Values that the page can't show: invalid times and invalid numbers.
    for (const exportedAt of [undefined, null, '1', -1, 8.64e15 + 2])
      await expect(headerOf(new Blob([fileOf({ ...HEADER, exportedAt })]))).rejects.toThrow('damaged');
    await expect(headerOf(new Blob([fileOf({ ...HEADER, capacity: '1' })]))).rejects.toThrow('damaged');
    for (const size of [12, 16, 17, 40])
      await expect(headerOf(new Blob([fileOf(HEADER).subarray(0, size)]))).rejects.toThrow('damaged');
  });
});
