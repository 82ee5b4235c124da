import { open, rename, rm, stat } from 'node:fs/promises';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { UnreachableError } from '#client';
import { Exit, Interrupted, reasonOf, UsageError } from '../ending.js';
import { show } from '../../errors/show.js';
import { cannotRead, openLocal } from '../sources/local.js';
import { STDIN } from '../sources/names.js';
import { bytes } from '../terminal/progress.js';
import { tell, type Context } from './context.js';
import { find, type Found } from './found.js';

/** Writes an export to stdout or a file. The file appears only once the export is complete. */
export async function exportTo(context: Context, name: string, file: string): Promise<Exit> {
  const isStdout = file === STDIN;
  if (isStdout && context.output.isTerminal)
    throw new UsageError(
      'an export is binary and would garble the terminal; name a file with -o, or redirect stdout',
    );
  const { handle } = await find(context.client, name);
  if (isStdout) {
    await receive(context, handle, process.stdout, false);
    return Exit.Done;
  }
  await assertReplaceable(file);
  const part = `${file}.part-${process.pid}`;
  const failed = (error: unknown) => Promise.reject(cannotWrite(show(file), error));
  const opened = await open(part, 'wx', 0o600).catch(failed);
  try {
    const written = await receive(context, handle, opened.createWriteStream(), true);
    await rename(part, file).catch(failed);
    await tell(
      context,
      { verb: 'export', name, file, bytes: written },
      `exported ${name} to ${file}: ${bytes(written)}`,
    );
    return Exit.Done;
  } catch (error) {
    await opened.close().catch(() => undefined);
    await rm(part, { force: true });
    throw error;
  }
}

/** Resolves with the number of bytes once the whole export is written. */
async function receive(
  { interruption }: Context,
  handle: Found['handle'],
  target: Writable,
  end: boolean,
): Promise<number> {
  const { soft } = interruption;
  // The DOM and Node declare different types for web streams.
  const stream = (await handle.export({ signal: soft })) as Parameters<typeof Readable.fromWeb>[0];
  const source = Readable.fromWeb(stream);
  let written = 0;
  let failed: unknown;
  source.on('data', (chunk: Buffer) => (written += chunk.length));
  source.on('error', (error) => (failed ??= error));
  try {
    await pipeline(source, target, { end, signal: soft });
  } catch (error) {
    if (soft.aborted) throw new Interrupted();
    const { code } = error as NodeJS.ErrnoException;
    // The pipe's reader has closed it.
    if (code === 'EPIPE') process.exit(Exit.Done);
    if (code?.startsWith('E') === true && failed === undefined) throw cannotWrite('the export', error);
    throw new UnreachableError(`the export broke off after ${written} bytes: ${reasonOf(failed ?? error)}`);
  }
  return written;
}

function cannotWrite(what: string, error: unknown): UsageError {
  return new UsageError(`cannot write ${what}: ${reasonOf(error)}`);
}

/** Renaming replaces the target, which would destroy a pipe or a device. */
async function assertReplaceable(file: string): Promise<void> {
  const found = await stat(file).catch(() => undefined);
  if (found && !found.isFile())
    throw new UsageError(
      `cannot write ${show(file)}: it is not a regular file; for a pipe or device, redirect stdout`,
    );
}

/** Creates a set or filter from an export. */
export async function importFrom(
  context: Context,
  file: string,
  { name }: { readonly name?: string },
): Promise<Exit> {
  const { client, interruption } = context;
  const stream = file === STDIN ? process.stdin : await openLocal(file);
  const { header, body } = await opened(file, stream);
  const as = name ?? header.name;
  const handle = header.kind === 'filter' ? client.filter(as) : client.visitedSet(as);
  const data = Readable.toWeb(body) as unknown as ReadableStream<Uint8Array>;
  const made = await handle.import(data, { signal: interruption.soft });
  const kind = header.kind === 'filter' ? 'filter' : 'visited set';
  await tell(context, made, `${kind} ${made.name}: imported, ${bytes(made.memoryBytes)}`);
  return Exit.Done;
}

const START = Buffer.from('\x89UNSEEN\r\n\x1a\n', 'latin1');
/** Signature, version, type, and length of the first frame. */
const HEAD_BYTES = START.length + 6;
const MAX_HEADER_BYTES = 64 * 1024;

interface Header {
  readonly kind: string;
  readonly name: string;
}

/** Reads an export's header. `body` still yields all bytes. The service checks everything else. */
async function opened(file: string, stream: Readable): Promise<{ header: Header; body: Readable }> {
  const chunks = (stream as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  let head: Buffer = Buffer.alloc(0);
  try {
    while (!hasHeader(head)) {
      const next = await chunks.next();
      if (next.done === true) break;
      head = Buffer.concat([head, next.value]);
    }
  } catch (error) {
    throw cannotRead(file, reasonOf(error));
  }
  const all = async function* (): AsyncGenerator<Buffer> {
    yield head;
    yield* { [Symbol.asyncIterator]: () => chunks };
  };
  return { header: headerIn(file, head), body: Readable.from(all(), { objectMode: false }) };
}

function hasHeader(head: Buffer): boolean {
  return head.length >= HEAD_BYTES && head.length >= HEAD_BYTES + Math.min(lengthIn(head), MAX_HEADER_BYTES);
}

function lengthIn(head: Buffer): number {
  return head.readUInt32BE(HEAD_BYTES - 4);
}

function headerIn(file: string, head: Buffer): Header {
  if (!head.subarray(0, START.length).equals(START) || !hasHeader(head))
    throw cannotRead(file, 'it is not an export of a filter or visited set');
  try {
    const text = head.subarray(HEAD_BYTES, HEAD_BYTES + lengthIn(head)).toString();
    const { kind, name } = JSON.parse(text) as Partial<Record<string, unknown>>;
    return { kind: String(kind), name: String(name) };
  } catch {
    throw cannotRead(file, "the export's header is damaged");
  }
}
