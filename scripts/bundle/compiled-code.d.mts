/** Lets the bundled programs in a folder start from compiled code. */
export function compile(folder: string): Promise<void>;
