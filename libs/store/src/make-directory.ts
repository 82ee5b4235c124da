import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Creates a directory that only its owner can use, and missing parents with the mode that the umask allows. Node's
 * recursive mkdir never returns if the kernel returns ENOENT for a child of an existing directory, as it does below
 * /proc.
 */
export function makePrivateDirectory(path: string): void {
  makeDirectory(path, 0o700);
}

function makeDirectory(path: string, mode: number): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return;
  const parent = dirname(path);
  if (parent !== path) makeDirectory(parent, 0o777);
  try {
    mkdirSync(path, mode);
  } catch (error) {
    // Another process may have created it first.
    if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) throw error;
  }
}
