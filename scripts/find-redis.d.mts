/** A program's full path in the PATH. */
export function which(program: string): string | undefined;
