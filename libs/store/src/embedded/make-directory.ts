import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes a directory, for its owner alone, and those above it where they are missing, as the umask says. Node's own
 * recursive mkdir never returns where the kernel refuses a child of a directory that is there with ENOENT, as it does
 * below /proc.
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
    // Another process may have been faster.
    if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) throw error;
  }
}
