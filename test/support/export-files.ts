import {
  encodeExportFile,
  ExportFileReader,
  exportHeader,
  type ExportHeader,
  type Filter,
  type FilterSpec,
  type Operation,
  type Part,
  type Quota,
  type Store,
} from '#store';
import { clock } from './clock.js';

export async function exportFile(store: Store, filter: Filter): Promise<Buffer> {
  return collect(encodeExportFile(exportHeader(filter), store.transfer.export(filter)));
}

export async function collect(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all);
}

/** Imports a file as the service does. `cut` is how large the arriving chunks are, in bytes. */
export async function importFile(
  store: Store,
  file: Buffer,
  operation: Operation,
  name?: string,
  cut = 100_000,
  quota?: Quota,
): Promise<Filter> {
  const reader = new ExportFileReader(pieces(file, cut), clock.now);
  const header = await reader.header();
  return store.transfer.import(specOf(header, name), reader.parts(header), operation, quota);
}

/** A file's header and parts. Throws ExportFileError. */
export async function readFile(file: Buffer, cut = 1_000): Promise<{ header: ExportHeader; parts: Part[] }> {
  const reader = new ExportFileReader(pieces(file, cut), clock.now);
  const header = await reader.header();
  const parts: Part[] = [];
  for await (const part of reader.parts(header)) parts.push(part);
  return { header, parts };
}

/** The spec for an import, from a file's header or a filter. */
export function specOf(header: FilterSpec | ExportHeader, name = header.name): FilterSpec {
  const { kind, type, semantics, capacity, errorRate, geometry, layers, seed } = header;
  const { urlProfile, maxAttempts, maxAgeSeconds, perHost } = header;
  const spec = { name, kind, type, semantics, capacity, errorRate, geometry, seed };
  return {
    ...spec,
    ...(layers !== undefined && { layers }),
    ...(urlProfile !== undefined && { urlProfile }),
    ...(maxAttempts !== undefined && { maxAttempts }),
    ...(maxAgeSeconds !== undefined && { maxAgeSeconds }),
    ...(perHost !== undefined && { perHost }),
  };
}

export async function* pieces(bytes: Buffer, cut: number): AsyncGenerator<Buffer, void, undefined> {
  for (let at = 0; at < bytes.length; at += cut) yield bytes.subarray(at, at + cut);
}
