/** Lets the bundled programs in a folder start from compiled code. Throws if one of them takes longer than `patienceMs`. */
export function compile(folder: string, options?: { readonly patienceMs?: number }): Promise<void>;
