import { constants, createReadStream, type Stats } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { isatty, ReadStream } from 'node:tty';
import { reasonOf, UsageError } from '../ending.js';
import { shown } from './names.js';

export function cannotRead(name: string, why: string): UsageError {
  return new UsageError(`cannot read ${shown(name)}: ${why}`);
}

/** A local source's size, if it has one. Doesn't open it. Throws UsageError. */
export async function sizeOf(path: string): Promise<number | undefined> {
  const { isFile, size } = await described(path);
  return isFile ? size : undefined;
}

/**
 * Opens a file, a named pipe or a device. Waiting for the other end of a pipe blocks no thread: only SIGKILL could end
 * a process with a blocked thread. Throws UsageError.
 */
export async function openLocal(path: string): Promise<Readable> {
  const { isFile, isPipe } = await described(path);
  if (isFile) return createReadStream(path, { highWaterMark: 256 * 1024 });
  // O_NONBLOCK opens a pipe without waiting for a writer. The event loop waits instead.
  const handle = await open(path, constants.O_RDONLY | (isPipe ? constants.O_NONBLOCK : 0)).catch(
    (error: unknown) => {
      throw cannotRead(path, reasonOf(error));
    },
  );
  if (isPipe) return new Socket({ fd: releasedFd(handle), readable: true, writable: false });
  if (isatty(handle.fd)) return new ReadStream(releasedFd(handle));
  return handle.createReadStream();
}

/** Returns a handle's descriptor, and keeps the handle: the garbage collector would close the descriptor. */
function releasedFd(handle: { readonly fd: number }): number {
  KEPT.add(handle);
  return handle.fd;
}

const KEPT = new Set<object>();

async function described(path: string): Promise<{ isFile: boolean; isPipe: boolean; size: number }> {
  const found: Stats = await stat(path).catch((error: unknown) => {
    throw cannotRead(path, reasonOf(error));
  });
  if (found.isDirectory()) throw cannotRead(path, 'it is a directory');
  if (found.isSocket()) throw cannotRead(path, 'it is a socket');
  return { isFile: found.isFile(), isPipe: found.isFIFO(), size: found.size };
}
